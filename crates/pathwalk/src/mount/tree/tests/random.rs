//! Random operations, after each of which the tree is well-formed.

use super::model::Model;
use super::op::Random;
use super::system::System as _;

#[test]
fn a_tree_is_well_formed_after_random_operations_and_empty_in_the_end() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut model = Model::new();
        for _ in 0..100 {
            let _ = model.run(&random.op());
            model.tree.check();
        }
        let (tree, ground) = model.end();
        tree.check();
        assert_eq!((tree.nodes.ids().count(), ground.slots()), (0, 0), "seed {seed}");
    }
}
