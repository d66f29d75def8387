//! The program that sends a connection to the listener of the CPU on which it arrives.
//!
//! Classic BPF, because it needs no privilege (eBPF does) and `SO_INCOMING_CPU` on listeners only breaks ties. The kernel runs it
//! for each connection request and takes its result as the index of a listener in its `SO_REUSEPORT` group, in the order in which
//! these began to listen. An index outside of the group makes the kernel choose by hash, as without a program.

use thiserror::Error;

use crate::sys::Instruction;

/// The kernel's bound on the length of a program (`BPF_MAXINSNS`).
const MAX_INSTRUCTIONS: usize = 4096;

/// No group has this many listeners: the kernel falls back to its hash.
const BY_HASH: u32 = u32::MAX;

/// Extensions that load facts about the packet in place of its bytes (`SKF_AD_OFF` + `SKF_AD_CPU` or `SKF_AD_RANDOM`).
const AD_CPU: u32 = (-0x1000i32 + 36) as u32;
const AD_RANDOM: u32 = (-0x1000i32 + 56) as u32;

/// Why no program can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SteerError {
    /// Workers can't be told apart by CPU when none is named.
    #[error("no CPU is named for the workers")]
    NoCpus,
    /// The jump table would be longer than the kernel accepts, or a jump in it too far.
    #[error("{workers} workers on {cpus} CPUs are more than a steering program can hold")]
    TooLarge {
        /// Workers asked for.
        workers: usize,
        /// CPUs that they are spread over.
        cpus: usize,
    },
}

/// The program for workers of which number `i` runs on `cpus[i % cpus.len()]`. A CPU with several workers spreads its connections
/// over them at random; a CPU with none leaves it to the kernel's hash.
pub(crate) fn by_cpu(workers: usize, cpus: &[usize]) -> Result<Vec<Instruction>, SteerError> {
    if cpus.is_empty() {
        return Err(SteerError::NoCpus);
    }
    let too_large = SteerError::TooLarge { workers, cpus: cpus.len() };
    let mut program = vec![load(AD_CPU)];
    if workers == cpus.len() && cpus.iter().enumerate().all(|(i, &cpu)| i == cpu) {
        program.push(return_a());
        return Ok(program);
    }
    for (i, &cpu) in cpus.iter().enumerate() {
        if cpus[..i].contains(&cpu) {
            continue;
        }
        let here: Vec<u32> = (0..workers as u32).filter(|&worker| cpus[worker as usize % cpus.len()] == cpu).collect();
        let choice = choose(&here);
        let skip = u8::try_from(choice.len()).map_err(|_| too_large)?;
        program.push(skip_unless_equal(u32::try_from(cpu).map_err(|_| too_large)?, skip));
        program.extend(choice);
    }
    program.push(return_k(BY_HASH));
    if program.len() > MAX_INSTRUCTIONS { Err(too_large) } else { Ok(program) }
}

/// Ends the program with one of these listeners.
fn choose(listeners: &[u32]) -> Vec<Instruction> {
    let [firsts @ .., last] = listeners else { return vec![return_k(BY_HASH)] };
    let mut choice = Vec::new();
    if !firsts.is_empty() {
        choice.extend([load(AD_RANDOM), modulo(listeners.len() as u32)]);
    }
    for (i, &listener) in firsts.iter().enumerate() {
        choice.extend([skip_unless_equal(i as u32, 1), return_k(listener)]);
    }
    choice.push(return_k(*last));
    choice
}

const fn instruction(code: u32, jf: u8, k: u32) -> Instruction {
    Instruction { code: code as u16, jt: 0, jf, k }
}

const fn load(extension: u32) -> Instruction {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, extension)
}

const fn modulo(divisor: u32) -> Instruction {
    instruction(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, 0, divisor)
}

const fn skip_unless_equal(value: u32, skip: u8) -> Instruction {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, skip, value)
}

const fn return_a() -> Instruction {
    instruction(libc::BPF_RET | libc::BPF_A, 0, 0)
}

const fn return_k(value: u32) -> Instruction {
    instruction(libc::BPF_RET | libc::BPF_K, 0, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program as the kernel would for a packet on `cpu`, with `random` for the random extension.
    fn run(program: &[Instruction], cpu: u32, random: u32) -> u32 {
        let (mut at, mut a) = (0, 0);
        loop {
            let Instruction { jt, jf, k, .. } = program[at];
            at += 1;
            match program[at - 1] {
                code if code == load(AD_CPU) => a = cpu,
                code if code == load(AD_RANDOM) => a = random,
                code if code == modulo(k) => a %= k,
                code if code == skip_unless_equal(k, jf) => at += usize::from(if a == k { jt } else { jf }),
                code if code == return_a() => return a,
                code if code == return_k(k) => return k,
                other => panic!("unknown instruction {other:?}"),
            }
        }
    }

    #[test]
    fn every_connection_reaches_a_worker_of_its_cpu() {
        let table: &[(usize, &[usize])] = &[
            (1, &[0]),
            (2, &[0, 1]),
            (2, &[1, 0]),
            (2, &[4, 9]),
            (1, &[0, 1]),
            (4, &[0, 1]),
            (5, &[3, 7]),
            (3, &[2, 2, 5]),
            (300, &[0, 1, 2, 3]),
        ];
        for &(workers, cpus) in table {
            let program = by_cpu(workers, cpus).unwrap();
            for cpu in 0..12 {
                let expected: Vec<u32> =
                    (0..workers as u32).filter(|&worker| cpus[worker as usize % cpus.len()] == cpu as usize).collect();
                let reached: Vec<u32> = (0..workers.min(100) as u32).map(|random| run(&program, cpu, random)).collect();
                match expected.as_slice() {
                    [] => assert!(
                        reached.iter().all(|&worker| worker as usize >= workers),
                        "{workers} on {cpus:?}, CPU {cpu}"
                    ),
                    all => {
                        assert!(reached.iter().all(|worker| all.contains(worker)), "{workers} on {cpus:?}, CPU {cpu}");
                        assert!(all.iter().all(|worker| reached.contains(worker)), "{workers} on {cpus:?}, CPU {cpu}");
                    }
                }
            }
        }
    }

    #[test]
    fn cpus_in_plain_order_need_two_instructions() {
        assert_eq!(by_cpu(64, &(0..64).collect::<Vec<_>>()).unwrap().len(), 2);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(by_cpu(1, &[]), Err(SteerError::NoCpus));
        let many: Vec<usize> = (1..=1024).collect();
        assert_eq!(by_cpu(1024, &many).unwrap().len(), 2 + 2 * 1024);
        assert_eq!(by_cpu(3072, &many), Err(SteerError::TooLarge { workers: 3072, cpus: 1024 }));
        assert_eq!(by_cpu(1000, &[0]), Err(SteerError::TooLarge { workers: 1000, cpus: 1 }));
    }
}
