//! The only encoder and decoder of user_data.
//!
//! ```text
//!  63      56 55                     32 31                      0
//! +----------+-------------------------+-------------------------+
//! |    op    |       generation        |          slot           |
//! +----------+-------------------------+-------------------------+
//! ```
//! The generation is what tells a late completion of a closed connection from one of the connection that took its slot
//! (an index alone, or the descriptor's number, would deliver one peer's event to another). It wraps after 2^24 reuses of
//! one slot: a completion would have to be late by 16 million connections to be mistaken.

/// Bits of the generation in a token.
pub const GENERATION_BITS: u32 = 24;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;

/// What an operation is, so that a completion can be dispatched without a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Op {
    /// Multishot accept on a listener.
    Accept = 1,
    /// Connect of a client socket.
    Connect = 2,
    /// Multishot receive.
    Recv = 3,
    /// Send.
    Send = 4,
    /// Close on the ring.
    Close = 5,
    /// A request to end another operation.
    Cancel = 6,
    /// An eventfd became readable: another thread wants attention.
    Wake = 7,
    /// A point in time was reached.
    Tick = 8,
}

impl Op {
    /// All operations, in the order of their numbers.
    pub const ALL: [Self; 8] =
        [Self::Accept, Self::Connect, Self::Recv, Self::Send, Self::Close, Self::Cancel, Self::Wake, Self::Tick];

    const fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            1 => Self::Accept,
            2 => Self::Connect,
            3 => Self::Recv,
            4 => Self::Send,
            5 => Self::Close,
            6 => Self::Cancel,
            7 => Self::Wake,
            8 => Self::Tick,
            _ => return None,
        })
    }
}

/// A slot at one generation: the name of a connection for as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    slot: u32,
    generation: u32,
}

impl Key {
    /// Names `slot` at `generation`, of which the low 24 bits count.
    #[must_use]
    pub const fn new(slot: u32, generation: u32) -> Self {
        Self { slot, generation: generation & GENERATION_MASK }
    }

    /// Index of the slot.
    #[must_use]
    pub const fn slot(self) -> usize {
        self.slot as usize
    }

    /// Which tenant of the slot is meant.
    #[must_use]
    pub const fn generation(self) -> u32 {
        self.generation
    }
}

/// The user_data of a submission: an operation and whose it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(u64);

impl Token {
    /// Packs an operation and its owner.
    #[must_use]
    pub const fn new(op: Op, key: Key) -> Self {
        Self(((op as u64) << 56) | ((key.generation as u64) << 32) | key.slot as u64)
    }

    /// What the kernel carries.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Reads what the kernel carried; `None` when no token of ours looks like this.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Option<Self> {
        match Op::from_bits((bits >> 56) as u8) {
            Some(_) => Some(Self(bits)),
            None => None,
        }
    }

    /// The operation.
    #[must_use]
    pub const fn op(self) -> Op {
        match Op::from_bits((self.0 >> 56) as u8) {
            Some(op) => op,
            // A token is only made by `new` and `from_bits`, which both hold a valid op.
            None => unreachable!(),
        }
    }

    /// Whose operation.
    #[must_use]
    pub const fn key(self) -> Key {
        Key::new(self.0 as u32, (self.0 >> 32) as u32)
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = self.key();
        write!(f, "{:?}[{}#{}]", self.op(), key.slot, key.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_and_every_edge_survives_the_round_trip() {
        for op in Op::ALL {
            for slot in [0, 1, 0xffff, u32::MAX] {
                for generation in [0, 1, GENERATION_MASK] {
                    let key = Key::new(slot, generation);
                    let token = Token::from_bits(Token::new(op, key).bits()).expect("own token");
                    assert_eq!((token.op(), token.key()), (op, key));
                }
            }
        }
    }

    #[test]
    fn bits_that_no_token_has_are_refused() {
        for bits in [0, u64::MAX, 9 << 56, 0xff << 56] {
            assert_eq!(Token::from_bits(bits), None, "{bits:#x}");
        }
    }

    #[test]
    fn generation_is_cut_to_its_bits_and_never_reaches_the_op() {
        let token = Token::new(Op::Recv, Key::new(7, u32::MAX));
        assert_eq!(token.op(), Op::Recv);
        assert_eq!(token.key().generation(), GENERATION_MASK);
        assert_eq!(token.key().slot(), 7);
    }
}
