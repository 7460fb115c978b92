//! Rebases onto a base that has changed.

use pathwalk::OpenFlags;
use pathwalk_branch::{Answer, Resolution};

use crate::cases::text;
use crate::common::Ground;
use crate::common::trees::{differences, look, look_closely};
use crate::fill;

#[test]
fn what_the_base_removed_comes_back_under_a_name_that_it_has() {
    for ground in Ground::each(fill) {
        let step = ground.fork(None, "step");
        step.link("/a", "/z").unwrap();
        step.write("/a", "branch").unwrap();
        step.remove_file("/z").unwrap();
        ground.base.remove_file("/a").unwrap();
        ground.branches.catch_up();
        ground.branches.rebase("step", &Resolution::all(Answer::Ours)).unwrap();
        assert_eq!((text(&step, "/a"), step.stat("/z").is_err()), ("branch".to_owned(), true), "on {}", ground.name);
        assert_eq!(step.stat("/a").unwrap().nlink, 1);
        ground.branches.commit("step").unwrap();
        assert_eq!((text(&ground.base, "/a"), ground.base.stat("/z").is_err()), ("branch".to_owned(), true));
    }
}

#[test]
fn a_rebase_onto_a_changed_base_takes_over_what_it_changed() {
    for mut ground in Ground::each(fill) {
        let step = ground.fork(None, "step");
        step.write("/d/new", "branch").unwrap();
        step.chmod("/a", 0o600).unwrap();
        step.rename("/one/x", "/one/y").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(12));
        ground.base.write("/a", "base").unwrap();
        ground.base.rename("/d", "/elsewhere").unwrap();
        ground.base.mkdir("/one/more", 0o755).unwrap();
        ground.branches.catch_up();
        let before = ground.branches.diff("step").unwrap().len();
        ground.branches.rebase("step", &Resolution::default()).unwrap();
        let paths: Vec<_> = ground.branches.diff("step").unwrap().iter().map(|change| change.path().to_vec()).collect();
        assert_eq!(paths, [b"/a".to_vec(), b"/elsewhere/new".to_vec(), b"/one/y".to_vec()], "on {}", ground.name);
        assert_eq!((before, text(&step, "/a"), step.stat("/one").unwrap().nlink), (3, "base".to_owned(), 4));
        let rebased = look_closely(&step);
        drop(step);
        if ground.is_stored() {
            ground.reopen();
            assert!(look_closely(&ground.again("step")) == rebased, "it is stored");
        }
        ground.branches.commit("step").unwrap();
        assert!(look_closely(&ground.base) == rebased, "on {}", ground.name);
    }
}

#[test]
fn what_the_base_put_in_the_place_of_what_it_moved_is_shown_after_a_rebase() {
    for ground in Ground::each(fill) {
        let step = ground.fork(None, "step");
        step.write("/a", "branch").unwrap();
        ground.base.rename("/a", "/one/moved").unwrap();
        ground.base.write("/a", "another").unwrap();
        ground.branches.catch_up();
        // The second one finds what the first one has left.
        for _ in 0..2 {
            ground.branches.rebase("step", &Resolution::default()).unwrap();
            assert_eq!((&*text(&step, "/a"), &*text(&step, "/one/moved")), ("another", "branch"), "on {}", ground.name);
        }
        let rebased = look(&step);
        ground.branches.commit("step").unwrap();
        let found = look(&ground.base);
        assert!(found == rebased, "on {}: {}", ground.name, differences(&found, &rebased));
    }
}

#[test]
fn a_second_name_that_went_with_its_directory_is_no_conflict() {
    let each = ["/a", "/d/of-a"].into_iter().flat_map(|path| Ground::each(fill).map(|ground| (ground, path)));
    for (ground, looked_at) in each {
        ground.base.link("/a", "/d/of-a").unwrap();
        let step = ground.fork(None, "step");
        step.stat(looked_at).unwrap();
        step.remove_dir_all("/d").unwrap();
        let before = look(&step);
        ground.branches.rebase("step", &Resolution::default()).unwrap();
        assert_eq!(look(&step), before, "{looked_at} on {}", ground.name);
        ground.branches.commit("step").unwrap();
        assert_eq!(look(&ground.base), before, "{looked_at} on {}", ground.name);
    }
}

#[test]
fn what_the_base_linked_into_a_directory_goes_with_it_alone() {
    for ground in Ground::each(fill) {
        let step = ground.fork(None, "step");
        step.write("/a", "branch").unwrap();
        step.remove_dir_all("/d").unwrap();
        ground.base.link("/a", "/d/of-a").unwrap();
        ground.branches.catch_up();
        ground.branches.rebase("step", &Resolution::all(Answer::Ours)).unwrap();
        assert_eq!((text(&step, "/a"), step.stat("/d").is_err()), ("branch".to_owned(), true), "on {}", ground.name);
        assert_eq!(step.stat("/a").unwrap().nlink, 1, "on {}", ground.name);
        ground.branches.commit("step").unwrap();
        assert_eq!((text(&ground.base, "/a"), ground.base.stat("/d").is_err()), ("branch".to_owned(), true));
    }
}

#[test]
fn what_the_base_made_with_a_number_that_it_reused_is_shown() {
    for ground in Ground::each(fill) {
        let step = ground.fork(None, "step");
        step.remove_dir_all("/two").unwrap();
        step.mkdir("/two", 0o755).unwrap();
        step.write("/one/x", "branch").unwrap();
        ground.base.remove_dir_all("/two").unwrap();
        ground.base.mkdir("/two", 0o700).unwrap();
        ground.branches.catch_up();
        ground.branches.rebase("step", &Resolution::all(Answer::Theirs)).unwrap();
        assert_eq!(step.stat("/two").unwrap().mode & 0o777, 0o700, "on {}", ground.name);
        ground.branches.commit("step").unwrap();
        assert_eq!(text(&ground.base, "/one/x"), "branch", "on {}", ground.name);
    }
}

#[test]
fn open_files_stay_through_a_rebase_onto_the_base() {
    for ground in Ground::each(fill) {
        let step = ground.fork(None, "step");
        step.write("/a", "branch").unwrap();
        let open = step.open("/a", OpenFlags::READ | OpenFlags::WRITE).unwrap();
        ground.base.remove_file("/a").unwrap();
        ground.branches.catch_up();
        ground.branches.rebase("step", &Resolution::all(Answer::Theirs)).unwrap();
        assert!(step.stat("/a").is_err(), "on {}", ground.name);
        let mut buffer = [0; 6];
        assert_eq!((open.read_at(&mut buffer, 0).unwrap(), &buffer), (6, b"branch"), "on {}", ground.name);
        assert_eq!(open.handle().attributes().unwrap().nlink, 0);
        open.write_at(b"B", 0).unwrap();
        assert_eq!((open.read_at(&mut buffer, 0).unwrap(), &buffer), (6, b"Branch"), "on {}", ground.name);
        ground.branches.commit("step").unwrap();
    }
}

#[test]
fn a_file_of_which_both_have_removed_one_of_two_names_is_gone() {
    for by_rebase in [false, true] {
        for ground in Ground::each(|base| {
            fill(base);
            base.link("/a", "/z").unwrap();
        }) {
            let step = ground.fork(None, "step");
            step.remove_file("/a").unwrap();
            ground.base.remove_file("/z").unwrap();
            ground.branches.catch_up();
            if by_rebase {
                let rebased = ground.branches.rebase("step", &Resolution::default());
                rebased.unwrap_or_else(|error| panic!("on {}: {error}", ground.name));
                assert!(step.lstat("/a").is_err() && step.lstat("/z").is_err());
            }
            let committed = ground.branches.commit("step");
            committed.unwrap_or_else(|error| panic!("by rebase {by_rebase}, on {}: {error}", ground.name));
            assert!(ground.base.lstat("/a").is_err() && ground.base.lstat("/z").is_err());
        }
    }
}
