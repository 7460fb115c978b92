//! Named pipes, sockets and devices: pipes beside the kernel's, row by row and in random programs;
//! the rest by itself.

mod devices;
mod files;
mod programs;
mod rows;
mod side;
mod sockets;
mod threads;
