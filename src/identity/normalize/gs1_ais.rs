//! The application identifiers of GS1 and the form of their values. Data, and how to look it up.
//!
//! General Specifications, section 3.2; the lengths are those of the GS1 Barcode Syntax
//! Dictionary. An identifier that stands here identifies nothing by that: it only lets an element
//! string be taken apart.

/// The form of a value: at least and at most so many characters, the first of them digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    least: u8,
    most: u8,
    digits: u8,
}

impl Form {
    /// The length of a value that has only one.
    pub fn fixed(self) -> Option<usize> {
        (self.least == self.most).then_some(usize::from(self.least))
    }

    pub fn fits(self, value: &[u8]) -> bool {
        let digits = value.len().min(self.digits.into());
        (usize::from(self.least)..=usize::from(self.most)).contains(&value.len())
            && value[..digits].iter().all(u8::is_ascii_digit)
            && value[digits..].iter().all(|b| matches!(b, b'!'..=b'~'))
    }
}

/// The application identifier that a text begins with: its length and the form of its value.
pub(super) fn begin(text: &[u8]) -> Option<(usize, Form)> {
    // No identifier is the beginning of another.
    (2..=4).find_map(|width| {
        let number = text.get(..width).filter(|ai| ai.iter().all(u8::is_ascii_digit))?;
        let number = number.iter().fold(0u16, |n, digit| n * 10 + u16::from(digit - b'0'));
        let known = |ai: &&Ai| ai.width == width && (ai.first..=ai.last).contains(&number);
        AIS.iter().find(known).map(|ai| (width, ai.form))
    })
}

/// A run of application identifiers of so many digits.
struct Ai {
    width: usize,
    first: u16,
    last: u16,
    form: Form,
}

/// Digits, exactly so many.
const fn n(width: usize, first: u16, last: u16, length: u8) -> Ai {
    digits(width, first, last, length, length)
}

/// Digits, of variable length.
const fn digits(width: usize, first: u16, last: u16, least: u8, most: u8) -> Ai {
    Ai { width, first, last, form: Form { least, most, digits: most } }
}

/// Characters, one at least.
const fn x(width: usize, first: u16, last: u16, most: u8) -> Ai {
    mixed(width, first, last, 0, 1, most)
}

/// So many digits, and characters behind them.
const fn mixed(width: usize, first: u16, last: u16, digits: u8, least: u8, most: u8) -> Ai {
    Ai { width, first, last, form: Form { least, most, digits } }
}

const AIS: &[Ai] = &[
    n(2, 0, 0, 18),
    n(2, 1, 3, 14),
    x(2, 10, 10, 20),
    n(2, 11, 13, 6),
    n(2, 15, 17, 6),
    n(2, 20, 20, 2),
    x(2, 21, 22, 20),
    x(3, 235, 235, 28),
    x(3, 240, 241, 30),
    digits(3, 242, 242, 1, 6),
    x(3, 243, 243, 20),
    x(3, 250, 251, 30),
    mixed(3, 253, 253, 13, 13, 30),
    x(3, 254, 254, 20),
    digits(3, 255, 255, 13, 25),
    digits(2, 30, 30, 1, 8),
    n(4, 3100, 3699, 6),
    digits(2, 37, 37, 1, 8),
    digits(4, 3900, 3909, 1, 15),
    digits(4, 3910, 3919, 4, 18),
    digits(4, 3920, 3929, 1, 15),
    digits(4, 3930, 3939, 4, 18),
    n(4, 3940, 3949, 4),
    n(4, 3950, 3959, 6),
    x(3, 400, 401, 30),
    n(3, 402, 402, 17),
    x(3, 403, 403, 30),
    n(3, 410, 417, 13),
    x(3, 420, 420, 20),
    mixed(3, 421, 421, 3, 4, 12),
    n(3, 422, 422, 3),
    digits(3, 423, 423, 3, 15),
    n(3, 424, 424, 3),
    digits(3, 425, 425, 3, 15),
    n(3, 426, 426, 3),
    x(3, 427, 427, 3),
    x(4, 4300, 4301, 35),
    x(4, 4302, 4306, 70),
    mixed(4, 4307, 4307, 0, 2, 2),
    x(4, 4308, 4308, 30),
    n(4, 4309, 4309, 20),
    x(4, 4310, 4311, 35),
    x(4, 4312, 4316, 70),
    mixed(4, 4317, 4317, 0, 2, 2),
    x(4, 4318, 4318, 20),
    x(4, 4319, 4319, 30),
    x(4, 4320, 4320, 35),
    n(4, 4321, 4323, 1),
    n(4, 4324, 4325, 10),
    n(4, 4326, 4326, 6),
    mixed(4, 4330, 4333, 6, 6, 7),
    n(4, 7001, 7001, 13),
    x(4, 7002, 7002, 30),
    n(4, 7003, 7003, 10),
    digits(4, 7004, 7004, 1, 4),
    x(4, 7005, 7005, 12),
    n(4, 7006, 7006, 6),
    digits(4, 7007, 7007, 6, 12),
    x(4, 7008, 7008, 3),
    x(4, 7009, 7009, 10),
    x(4, 7010, 7010, 2),
    digits(4, 7011, 7011, 6, 10),
    x(4, 7020, 7022, 20),
    x(4, 7023, 7023, 30),
    mixed(4, 7030, 7039, 3, 4, 30),
    mixed(4, 7040, 7040, 1, 4, 4),
    x(4, 7041, 7041, 4),
    // National healthcare reimbursement numbers.
    x(3, 710, 717, 20),
    mixed(4, 7230, 7239, 0, 3, 30),
    x(4, 7240, 7240, 20),
    n(4, 7241, 7241, 2),
    x(4, 7242, 7242, 25),
    n(4, 7250, 7250, 8),
    n(4, 7251, 7251, 12),
    n(4, 7252, 7252, 1),
    x(4, 7253, 7254, 40),
    x(4, 7255, 7255, 10),
    x(4, 7256, 7256, 90),
    x(4, 7257, 7257, 70),
    mixed(4, 7258, 7258, 1, 3, 3),
    x(4, 7259, 7259, 40),
    n(4, 8001, 8001, 14),
    x(4, 8002, 8002, 20),
    mixed(4, 8003, 8003, 14, 14, 30),
    x(4, 8004, 8004, 30),
    n(4, 8005, 8005, 6),
    n(4, 8006, 8006, 18),
    x(4, 8007, 8007, 34),
    digits(4, 8008, 8008, 8, 12),
    x(4, 8009, 8009, 50),
    x(4, 8010, 8010, 30),
    digits(4, 8011, 8011, 1, 12),
    x(4, 8012, 8012, 20),
    x(4, 8013, 8014, 25),
    n(4, 8017, 8018, 18),
    digits(4, 8019, 8019, 1, 10),
    x(4, 8020, 8020, 25),
    n(4, 8026, 8026, 18),
    x(4, 8030, 8030, 90),
    x(4, 8110, 8110, 70),
    n(4, 8111, 8111, 4),
    x(4, 8112, 8112, 70),
    x(4, 8200, 8200, 70),
    x(2, 90, 90, 30),
    x(2, 91, 99, 90),
];
