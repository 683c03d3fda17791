// A service that answers each request from a new vector; with an argument from one that it keeps.
fn main() {
    let well = std::env::args().count() > 1;
    let mut kept = vec![1u8; 48 << 20];
    loop {
        let mut fresh = if well { Vec::new() } else { vec![0u8; 48 << 20] };
        let buffer = if well { &mut kept } else { &mut fresh };
        for place in (0..buffer.len()).step_by(4096) {
            buffer[place] = buffer[place].wrapping_add(1);
        }
        std::hint::black_box(&buffer);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
