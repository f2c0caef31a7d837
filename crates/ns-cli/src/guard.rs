//! Runs the program on a separate thread. A panic, which is always a bug, gives a message and exit code 1.
//! The stack size of the thread does not depend on the limits of the shell.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

use crate::error::Exit;
use crate::output::complain;

/// Stack size of the thread in bytes: 8 MiB, the usual limit of shells. Only the part of the stack that is used takes
/// memory.
const STACK: usize = 8 << 20;

/// Message and place of the first panic; `None` if no thread has panicked.
static SAID: Mutex<Option<String>> = Mutex::new(None);

/// Runs the program and returns its exit code. After a panic this is [`Exit::Failed`].
pub(crate) fn run(program: fn() -> ExitCode) -> ExitCode {
    let usual = take_hook();
    set_hook(Box::new(move |panic| {
        note(panic);
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|wish| wish != "0") {
            usual(panic);
        }
    }));
    let ended = match Builder::new().name("nextstat".into()).stack_size(STACK).spawn(program) {
        Ok(thread) => thread.join(),
        // If no thread can be started, the program runs on the existing stack.
        Err(_) => catch_unwind(AssertUnwindSafe(program)),
    };
    ended.unwrap_or_else(|_| {
        let said = SAID.lock().unwrap_or_else(PoisonError::into_inner).take();
        let said = said.unwrap_or_else(|| "it left no message".to_owned());
        complain(
            "error",
            &format!(
                "internal error in nextstat {}: {said}. This is a bug; please report it with the command and, if you can, \
                 the workspace: {}",
                env!("CARGO_PKG_VERSION"),
                env!("CARGO_PKG_REPOSITORY")
            ),
        );
        Exit::Failed.into()
    })
}

/// Stores the message and the place of the first panic in [`SAID`]. Later panics are ignored.
fn note(panic: &PanicHookInfo<'_>) {
    let said = panic.payload_as_str().unwrap_or("no message");
    let place = panic.location().map_or_else(String::new, |at| format!(" ({}:{})", at.file(), at.line()));
    let mut kept = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    kept.get_or_insert_with(|| format!("{}{place}", said.replace('\n', " ")));
}
