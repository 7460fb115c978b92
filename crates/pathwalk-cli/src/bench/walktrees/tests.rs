//! Tests of accepted and refused arguments.

use clap::Parser;

use super::*;
use crate::args::{Args, BenchArgs, Command};
use crate::bench::Own;

fn parsed(args: &[&str]) -> Result<WalktreesArgs, String> {
    let line = ["pathwalk", "bench", "walktrees"].iter().chain(args);
    match Args::try_parse_from(line).map_err(|error| error.to_string())?.command {
        Command::Bench(BenchArgs { own: Some(Own::Walktrees(args)), .. }) => Ok(args),
        other => panic!("{other:?}"),
    }
}

fn planned(args: &[&str]) -> Plan {
    let mut plans = parsed(args).unwrap().plans().unwrap();
    assert_eq!(plans.len(), 1);
    plans.remove(0)
}

#[test]
fn several_numbers_of_threads_are_several_walks() {
    let args = parsed(&["--threads", "1,2,20", "--probe", "locked,lockfree", "--rounds", "4", "--hold", "7"]).unwrap();
    let plans = args.plans().unwrap();
    assert!(plans.iter().map(|plan| plan.shape.threads()).eq([1, 2, 20]));
    let probes = vec![Probe::Locked, Probe::LockFree];
    let caches: Vec<_> = probes.iter().copied().map(Who::Inodes).collect();
    assert!(plans.iter().all(|plan| plan.subject == Subject::Nodes(caches.clone()) && plan.rounds == 4));
    let expected = Holding { threads: vec![1, 2, 20], probes, hold: Duration::from_millis(7), holds: HOLDS, rounds: 4 };
    assert_eq!(args.holding(&plans), Some(expected));
    assert_eq!(parsed(&[]).unwrap().holding(&plans), None);
}

#[test]
fn what_is_asked_for_is_planned() {
    let plan = planned(&[]);
    assert_eq!((plan.shape, plan.room, plan.rounds), (Shape::new(20, 100, 1000).unwrap(), Room::All, 1));
    assert_eq!(plan.subject, Subject::Trees { trees: Trees::Synth, ask: Ask::ForSiblings });
    let line = "--threads 2 --dirs 3 --files 4 --entries 5 --probe lockfree --one-by-one --fs host:/a:b";
    let plan = planned(&line.split(' ').collect::<Vec<_>>());
    assert_eq!((plan.shape, plan.room, plan.rounds), (Shape::new(2, 3, 4).unwrap(), Room::Entries(5), 3));
    assert_eq!(plan.subject, Subject::Trees { trees: Trees::Host("/a:b".into()), ask: Ask::OneByOne });
    let plan = planned(&["--entries", "5", "--probe", "global,lockfree"]);
    let caches = [Probe::Global, Probe::LockFree].map(Who::Inodes).to_vec();
    assert_eq!((plan.subject, plan.room, plan.rounds), (Subject::Nodes(caches), Room::Entries(5), 1));
    let plan = planned(&["--beside", "dashmap,quick_cache"]);
    let caches = vec![Who::Inodes(Probe::LockFree), Who::Peer(Peer::DashMap), Who::Peer(Peer::QuickCache)];
    assert_eq!(plan.subject, Subject::Nodes(caches));
    for (text, bytes) in [("12345", 12345), ("64K", 64 << 10), ("3M", 3 << 20), ("4G", 4 << 30), ("1T", 1 << 40)] {
        assert_eq!(planned(&["--budget", text]).room, Room::Bytes(bytes), "{text}");
    }
}

#[test]
fn bad_arguments_are_refused() {
    let cases: [(&[&str], &str); 17] = [
        (&["--threads", "1,0"], "threads"),
        (&["--hold", "0"], "hold"),
        (&["--threads", "0"], "threads"),
        (&["--threads", "1025"], "threads"),
        (&["--dirs", "-1"], "-1"),
        (&["--files", "many"], "files"),
        (&["--budget", "4X"], "unknown unit \"X\""),
        (&["--budget", "G"], "budget"),
        (&["--budget", ""], "budget"),
        (&["--budget", "4é"], "unknown unit"),
        (&["--budget", "99999999999T"], "more than 64 bits"),
        (&["--budget", "1G", "--entries", "5"], "cannot be used with"),
        (&["--entries", "0"], "entries"),
        (&["--entries", "2147483648"], "entries"),
        (&["--fs", "ext4"], "there are synth and host:DIR"),
        (&["--fs", "host:"], "there are synth and host:DIR"),
        (&["--probe", "quick"], "possible values: lockfree, locked, global"),
    ];
    for (args, says) in cases {
        let error = parsed(args).expect_err("bad arguments");
        assert!(error.contains(says), "{args:?}: {error}");
    }
    let refused = |args: &[&str]| run(&parsed(args).unwrap()).unwrap_err().to_string();
    assert!(refused(&["--make"]).contains("--fs host:DIR"));
    assert!(refused(&["--probe", "global,global"]).contains("\"global\" is asked for twice"));
    assert!(refused(&["--probe", "locked"]).contains("name \"locked\" beside \"lockfree\""));
    for of_walks in [&["--fs", "host:/a"][..], &["--make"], &["--one-by-one"], &["--budget", "1G"]] {
        let line = [of_walks, &["--probe", "lockfree,locked"]].concat();
        assert!(refused(&line).contains(&format!("leave out {}", of_walks[0])), "{line:?}");
    }
    assert!(refused(&["--beside", "dashmap,dashmap"]).contains("dashmap is asked for twice"));
    assert!(refused(&["--beside", "dashmap", "--make"]).contains("leave out --make"));
    assert!(refused(&["--threads", "2,1,2"]).contains("2 threads are asked for twice"));
    assert!(refused(&["--budget", "1K"]).contains("1024 bytes"));
    let most = ["--threads", "1024", "--dirs", "100000000", "--files", "100000000", "--probe", "lockfree"];
    assert!(parsed(&most).unwrap().plans().is_ok(), "10 million million million can still be numbered");
}
