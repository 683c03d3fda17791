use std::collections::BTreeMap;

fn main() {
    let mut groups: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for i in 0..2000u64 {
        groups.entry((i * 7919 % 1000).to_string()).or_default().push(i);
    }
    let text: String = groups.iter().map(|(name, values)| format!("{name}: {values:?}\n")).collect();
    println!("{} {}", groups.len(), text.len());
}
