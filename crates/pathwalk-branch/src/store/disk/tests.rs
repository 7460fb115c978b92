//! The store alone: batches, snapshots, leases and blobs, by one process and by two opens.

mod power;
mod recorder;

use super::*;

fn two() -> (tempfile::TempDir, DiskStore, DiskStore) {
    let directory = tempfile::tempdir().expect("there is room");
    let open = || DiskStore::open(directory.path()).expect("it can be opened");
    let (one, other) = (open(), open());
    (directory, one, other)
}

fn get(store: &DiskStore, key: &[u8]) -> Option<Vec<u8>> {
    store.snapshot().expect("it can be read").get(key).expect("it can be read")
}

fn put(store: &DiskStore, key: &[u8], value: &[u8]) {
    let mut batch = Batch::default();
    batch.put(key, value);
    assert_eq!(store.apply(&batch), Ok(Applied::Done));
}

#[test]
fn a_batch_is_made_as_a_whole_or_refused() {
    let (_directory, one, other) = two();
    put(&one, b"a", b"1");
    assert_eq!(get(&other, b"a").as_deref(), Some(&b"1"[..]), "the other one sees it");
    let mut batch = Batch::default();
    batch.check(b"a", Some(b"1"));
    batch.put(b"a", b"2");
    batch.put(b"b", b"3");
    batch.delete(b"c");
    assert_eq!(other.apply(&batch), Ok(Applied::Done));
    assert_eq!(one.apply(&batch), Ok(Applied::Refused));
    assert_eq!((get(&one, b"a"), get(&one, b"b")), (Some(b"2".to_vec()), Some(b"3".to_vec())));
}

#[test]
fn a_snapshot_stays_as_it_was() {
    let (_directory, one, other) = two();
    for key in [&b"a"[..], b"b1", b"b2", b"b3", b"c"] {
        put(&one, key, key);
    }
    let snapshot = one.snapshot().expect("it can be read");
    put(&other, b"b4", b"");
    let mut batch = Batch::default();
    batch.delete(b"b1");
    other.apply(&batch).expect("there is room");
    let keys = |snapshot: &dyn Snapshot| {
        let mut keys = Vec::new();
        let mut each = |key: &[u8], _: &[u8]| {
            keys.push(key.to_vec());
            Ok(())
        };
        snapshot.scan(b"b", &mut each).expect("it can be read");
        keys
    };
    assert_eq!(keys(&*snapshot), [b"b1", b"b2", b"b3"]);
    assert_eq!(keys(&*one.snapshot().expect("it can be read")), [b"b2", b"b3", b"b4"]);
}

#[test]
fn one_process_has_a_lease_at_a_time() {
    let (_directory, one, other) = two();
    let lease = one.lease(7).expect("it can be asked for").expect("it is free");
    assert!(one.lease(7).expect("it can be asked for").is_none());
    assert!(other.lease(7).expect("it can be asked for").is_none());
    assert!(other.lease(8).expect("it can be asked for").is_some());
    drop(lease);
    assert!(other.lease(7).expect("it can be asked for").is_some());
}

#[test]
fn blobs_are_read_by_all_and_grow_at_the_end() {
    let (_directory, one, other) = two();
    let first = one.put(b"hello").expect("there is room");
    assert_eq!(one.append(first, 5, b", world"), Ok(true));
    assert_eq!(one.append(first, 5, b" again"), Ok(false));
    let second = one.put(&[7; 3 * 4096]).expect("there is room");
    assert_eq!(one.append(first, 12, b"!"), Ok(false), "it is not the last one any more");
    let elsewhere = other.put(b"elsewhere").expect("there is room");
    assert_eq!(other.append(second, 3 * 4096, b"!"), Ok(false), "another process writes it");
    one.sync().expect("it is written");
    let mut buffer = [0; 12];
    other.read(first, 0, &mut buffer).expect("it is there");
    assert_eq!(&buffer, b"hello, world");
    one.read(elsewhere, 4, &mut buffer[..5]).expect("it is there");
    assert_eq!(&buffer[..5], b"where");
    assert_eq!(other.read(elsewhere, 4, &mut buffer), Err(Errno::EIO));
    one.remove(second, 3 * 4096);
    one.read(second, 4096, &mut buffer).expect("the file is as long as it was");
    assert_eq!(buffer, [0; 12], "its whole pages went");
    one.read(first, 0, &mut buffer).expect("it is there");
    assert_eq!(&buffer, b"hello, world", "what lies beside it did not");
}

#[test]
fn a_store_that_was_closed_is_as_it_was() {
    let directory = tempfile::tempdir().expect("there is room");
    let store = DiskStore::open(directory.path()).expect("it can be opened");
    put(&store, b"key", b"value");
    let blob = store.put(b"blob").expect("there is room");
    drop(store);
    let store = DiskStore::open(directory.path()).expect("it can be opened");
    let mut buffer = [0; 4];
    store.read(blob, 0, &mut buffer).expect("it is there");
    assert_eq!((&buffer, get(&store, b"key").as_deref()), (b"blob", Some(&b"value"[..])));
    let another = store.put(b"blob").expect("there is room");
    assert_ne!(segments::parts(another).0, segments::parts(blob).0, "each process writes segments of its own");
}

#[test]
fn a_store_that_has_lost_its_rows_is_not_taken_for_a_new_one() {
    let (directory, one, other) = two();
    one.put(b"data").expect("there is room");
    drop((one, other));
    let rows = directory.path().join("rows");
    let length = std::fs::metadata(&rows).expect("it is there").len();
    for lose in [|rows: &Path| std::fs::File::create(rows).map(drop), |rows: &Path| std::fs::remove_file(rows)] {
        lose(&rows).expect("it is there");
        assert_eq!(DiskStore::open(directory.path()).map(drop), Err(Errno::EUCLEAN));
        assert!(std::fs::metadata(&rows).is_ok_and(|rows| rows.len() < length), "none are made");
    }
}

#[test]
fn a_store_whose_disk_was_full_works_when_there_is_room_again() {
    let directory = tempfile::tempdir().expect("there is room");
    let files = recorder::Recorded::open(directory.path(), &recorder::History::default());
    let is_full = Arc::clone(&files.is_full);
    let store = DiskStore::over(Arc::new(files), directory.path()).expect("it can be opened");
    put(&store, b"key", b"value");
    is_full.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut batch = Batch::default();
    batch.put(b"key", b"another");
    assert_eq!(store.apply(&batch), Err(Errno::ENOSPC));
    assert_eq!(store.apply(&batch), Err(Errno::ENOSPC));
    is_full.store(false, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(get(&store, b"key").as_deref(), Some(&b"value"[..]));
    assert_eq!(store.apply(&batch), Ok(Applied::Done));
    assert_eq!(get(&store, b"key").as_deref(), Some(&b"another"[..]));
}

#[test]
fn a_store_that_was_closed_is_opened_without_a_wait_for_the_disk() {
    let directory = tempfile::tempdir().expect("there is room");
    let history = recorder::History::default();
    let open = || {
        let files = recorder::Recorded::open(directory.path(), &history);
        DiskStore::over(Arc::new(files), directory.path()).expect("it can be opened")
    };
    put(&open(), b"key", b"value");
    let before = history.lock().len();
    let store = open();
    assert_eq!(get(&store, b"key").as_deref(), Some(&b"value"[..]));
    assert_eq!(history.lock()[before..].len(), 0, "nothing is written either");
    put(&store, b"key", b"another");
    let is_sync = |done: &&(String, recorder::Done)| matches!(done.1, recorder::Done::Sync);
    assert!(history.lock()[before..].iter().filter(is_sync).count() > 0);
}
