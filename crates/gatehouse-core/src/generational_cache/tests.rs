use super::*;

type Cache = GenerationalCache<u32, &'static str, 3>;

#[test]
fn a_cache_holds_at_most_two_generations() {
    let mut cache = Cache::default();
    assert!(cache.is_empty());
    for key in 0..100 {
        cache.insert(key, "value");
        assert!(cache.len() <= 6);
        assert_eq!(cache.peek(&key), Some(&"value"));
    }
    assert_eq!(cache.peek(&90), None);
}

#[test]
fn an_entry_in_use_stays_and_an_idle_one_is_evicted() {
    let mut cache = Cache::default();
    for key in 0..100 {
        cache.insert(key, "value");
        assert_eq!(cache.get(&0), Some(&"value"));
    }
    assert_eq!(cache.get(&1), None);
}

#[test]
fn a_peek_evicts_nothing_and_keeps_nothing() {
    let mut cache = Cache::default();
    (0..6).for_each(|key| cache.insert(key, "value"));
    for key in 0..6 {
        assert_eq!(cache.peek(&key), Some(&"value"));
    }
    assert_eq!(cache.len(), 6);
    cache.insert(6, "value");
    assert_eq!(cache.peek(&0), None);
}

#[test]
fn replacing_an_entry_of_a_full_generation_evicts_nothing() {
    let mut cache = Cache::default();
    (0..6).for_each(|key| cache.insert(key, "value"));
    cache.insert(5, "changed");
    assert_eq!((cache.len(), cache.peek(&5)), (6, Some(&"changed")));
}

#[test]
fn replaced_and_removed_values_do_not_come_back() {
    let mut cache = Cache::default();
    (0..5).for_each(|key| cache.insert(key, "value"));
    cache.insert(0, "changed");
    assert_eq!((cache.len(), cache.peek(&0)), (5, Some(&"changed")));
    cache.remove(&0);
    cache.remove(&1);
    assert_eq!((cache.len(), cache.peek(&0), cache.peek(&1)), (3, None, None));
}
