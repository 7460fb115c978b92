//! Tests that nothing outside of the root is ever served.

use crate::client::{SECRET, With, World};

/// The targets of requests for `etc/passwd` and for files beside the root, in many spellings.
const TARGETS: &[&str] = &[
    "/../../etc/passwd",
    "/../passwd",
    "/..//..//etc/passwd",
    "//../..//../etc/passwd",
    "/a/../../passwd",
    "/a/b/../../../passwd",
    "/%2e%2e/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/.%2e/.%2E/etc/passwd",
    "/..%2f..%2fetc%2fpasswd",
    "/%2e%2e%2fpasswd",
    "/a%2f..%2f..%2fpasswd",
    "/..%5c..%5cetc/passwd",
    "/%252e%252e/passwd",
    "/..;/passwd",
    "/./.././../passwd",
    "/%00/../passwd",
    "/../passwd%00.html",
    "/up/passwd",
    "/up/etc/passwd",
    "/a/up/passwd",
    "/a/up/etc/passwd",
    "/out",
    "/far-out",
    "/absolute-out",
    "/etc-passwd",
    "/a/b/beside",
    "/a/b/beside/",
    "/up/www-secret",
    "/etc/passwd",
    "//etc/passwd",
];

#[test]
fn no_spelling_and_no_link_leads_out() {
    let world = World::new();
    let machines = std::fs::read("/etc/passwd").unwrap_or_default();
    for with in With::ALL {
        let server = world.serve(with);
        for target in TARGETS.iter().chain(TARGETS) {
            let answer = server.get(target);
            assert!(matches!(answer.status, 403 | 404), "{with:?}: {target}: {}", answer.status);
            assert!(!answer.text().contains(SECRET), "{with:?}: {target}");
            assert!(machines.is_empty() || answer.body != machines, "{with:?}: {target}");
        }
    }
}

/// Tests that an absolute link is resolved within the root, where its target may exist although it
/// is different outside.
#[test]
fn an_absolute_link_starts_at_the_root() {
    let world = World::new();
    std::fs::create_dir(world.root().join("etc")).unwrap();
    std::fs::write(world.root().join("etc/passwd"), "our own").unwrap();
    for with in [With::Pathwalk, With::OneHop] {
        let server = world.serve(with);
        assert_eq!((server.get("/etc-passwd").text(), server.get("/far-out").text()), ("our own", "our own"), "{with:?}");
    }
}
