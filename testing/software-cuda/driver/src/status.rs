//! The results of the driver's functions.

/// A result of the driver, `CUresult` in its C interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Status(pub u32);

/// A result of the driver's functions, or the error that they return.
pub type Answer<T = ()> = Result<T, Status>;

macro_rules! statuses {
    ($($constant:ident = $number:literal, $name:literal, $text:literal;)*) => {
        impl Status {
            $(pub const $constant: Status = Status($number);)*

            /// Returns the status with this number.
            pub fn find(number: u32) -> Option<Status> {
                match number {
                    $($number => Some(Status::$constant),)*
                    _ => None,
                }
            }

            /// Returns the name of the status in the C interface, with a zero byte at the end.
            pub fn name(self) -> &'static str {
                match self.0 {
                    $($number => concat!($name, "\0"),)*
                    _ => "CUDA_ERROR_UNKNOWN\0",
                }
            }

            /// Returns a description of the status in one sentence, with a zero byte at the end.
            pub fn description(self) -> &'static str {
                match self.0 {
                    $($number => concat!($text, "\0"),)*
                    _ => "unknown error\0",
                }
            }
        }
    };
}

statuses! {
    SUCCESS = 0, "CUDA_SUCCESS", "no error";
    INVALID_VALUE = 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument";
    OUT_OF_MEMORY = 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory";
    NOT_INITIALIZED = 3, "CUDA_ERROR_NOT_INITIALIZED", "the driver is not initialised: call cuInit";
    NO_DEVICE = 100, "CUDA_ERROR_NO_DEVICE", "no device";
    INVALID_DEVICE = 101, "CUDA_ERROR_INVALID_DEVICE", "invalid device number";
    INVALID_IMAGE = 200, "CUDA_ERROR_INVALID_IMAGE", "the image of the module is invalid";
    INVALID_CONTEXT = 201, "CUDA_ERROR_INVALID_CONTEXT", "invalid context, or no current context";
    NO_BINARY_FOR_GPU = 209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the module has no code for this device";
    UNSUPPORTED_LIMIT = 215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "the device does not have this limit";
    INVALID_PTX = 218, "CUDA_ERROR_INVALID_PTX", "the PTX is invalid";
    UNSUPPORTED_PTX_VERSION = 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX has a version that is too new";
    FILE_NOT_FOUND = 301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found";
    INVALID_HANDLE = 400, "CUDA_ERROR_INVALID_HANDLE", "invalid handle";
    ILLEGAL_STATE = 401, "CUDA_ERROR_ILLEGAL_STATE", "an object is in a state that the call does not allow";
    NOT_FOUND = 500, "CUDA_ERROR_NOT_FOUND", "no symbol of this name";
    NOT_READY = 600, "CUDA_ERROR_NOT_READY", "the work is not finished";
    ILLEGAL_ADDRESS = 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "access to an illegal address";
    LAUNCH_OUT_OF_RESOURCES = 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "the launch needs more than the device has";
    PRIMARY_CONTEXT_ACTIVE = 708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "the primary context is in use";
    CONTEXT_IS_DESTROYED = 709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context is destroyed";
    ASSERT = 710, "CUDA_ERROR_ASSERT", "a trap or an assertion in a kernel";
    HOST_MEMORY_ALREADY_REGISTERED = 712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
        "the host memory is already registered";
    HOST_MEMORY_NOT_REGISTERED = 713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "the host memory is not registered";
    ILLEGAL_INSTRUCTION = 715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "illegal instruction";
    MISALIGNED_ADDRESS = 716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address";
    LAUNCH_FAILED = 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure";
    COOPERATIVE_LAUNCH_TOO_LARGE = 720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
        "the blocks of a cooperative launch do not fit on the device at once";
    NOT_PERMITTED = 800, "CUDA_ERROR_NOT_PERMITTED", "the call is not permitted here";
    NOT_SUPPORTED = 801, "CUDA_ERROR_NOT_SUPPORTED", "the software driver does not support this";
    STREAM_CAPTURE_UNSUPPORTED = 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        "the call is not permitted while a stream is capturing";
    STREAM_CAPTURE_INVALIDATED = 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
        "an earlier error has invalidated the capture";
    STREAM_CAPTURE_MERGE = 902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "the call would merge two captures";
    STREAM_CAPTURE_UNMATCHED = 903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture began in another stream";
    STREAM_CAPTURE_UNJOINED = 904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
        "the capture contains work of another stream that the first stream does not wait for";
    STREAM_CAPTURE_ISOLATION = 905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
        "captured work would depend on work that is not captured";
    STREAM_CAPTURE_IMPLICIT = 906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
        "the call would make the default stream wait for a capture";
    CAPTURED_EVENT = 907, "CUDA_ERROR_CAPTURED_EVENT", "the event was last recorded in a capturing stream";
    STREAM_CAPTURE_WRONG_THREAD = 908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
        "the capture began in another thread";
    GRAPH_EXEC_UPDATE_FAILURE = 910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
        "the graph differs in more than parameters";
    INVALID_CLUSTER_SIZE = 912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "invalid size of the cluster";
    UNKNOWN = 999, "CUDA_ERROR_UNKNOWN", "unknown error";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_descriptions_end_with_a_zero_byte() {
        for number in 0..1000 {
            let status = Status(number);
            assert!(status.name().ends_with('\0') && status.description().ends_with('\0'));
            if let Some(found) = Status::find(number) {
                assert_eq!(found, status);
            }
        }
        assert_eq!(Status::MISALIGNED_ADDRESS.name(), "CUDA_ERROR_MISALIGNED_ADDRESS\0");
    }
}
