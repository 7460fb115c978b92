//! The programs of the project's pages, as tests: each block of Rust code there is compiled and
//! run.

macro_rules! pages {
    ($($name:ident: $file:literal,)*) => {
        $(#[doc = include_str!(concat!("../../../", $file))] pub struct $name;)*
    };
}

pages! {
    Readme: "README.md",
    WhichType: "docs/which-type.md",
    Sandboxes: "docs/guides/sandboxes.md",
    Servers: "docs/guides/servers.md",
    BuildTools: "docs/guides/build-tools.md",
    AsyncServers: "docs/guides/async-servers.md",
}
