//! Functions of the interface that fusebox does not implement. For programs of one process, JAX
//! calls none of the functions in this file.

use crate::abi::{Arguments, Call, arguments};
use crate::error::{Answer, Error};

/// Defines functions that only return an error, whose message contains the function's name.
macro_rules! unsupported {
    ($($name:ident($function:literal))*) => {
        arguments! { $($name($function) {})* }
        $(impl Call for $name {
            fn call(&mut self) -> Answer {
                Err(Error::unimplemented(format!("fusebox does not have the function {}", Self::NAME)))
            }
        })*
    };
}

unsupported! {
    CopyStreamDestroy("PJRT_CopyToDeviceStream_Destroy")
    CopyStreamAddChunk("PJRT_CopyToDeviceStream_AddChunk")
    CopyStreamTotalBytes("PJRT_CopyToDeviceStream_TotalBytes")
    CopyStreamGranuleSize("PJRT_CopyToDeviceStream_GranuleSize")
    CopyStreamCurrentBytes("PJRT_CopyToDeviceStream_CurrentBytes")
    TransferManagerDestroy("PJRT_AsyncHostToDeviceTransferManager_Destroy")
    TransferManagerTransferData("PJRT_AsyncHostToDeviceTransferManager_TransferData")
    ClientCreateBuffersForAsyncHostToDevice("PJRT_Client_CreateBuffersForAsyncHostToDevice")
    TransferManagerRetrieveBuffer("PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer")
    TransferManagerDevice("PJRT_AsyncHostToDeviceTransferManager_Device")
    TransferManagerBufferCount("PJRT_AsyncHostToDeviceTransferManager_BufferCount")
    TransferManagerBufferSize("PJRT_AsyncHostToDeviceTransferManager_BufferSize")
    TransferManagerSetBufferError("PJRT_AsyncHostToDeviceTransferManager_SetBufferError")
    TransferManagerAddMetadata("PJRT_AsyncHostToDeviceTransferManager_AddMetadata")
    TransferManagerTransferLiteral("PJRT_AsyncHostToDeviceTransferManager_TransferLiteral")
    ClientUpdateGlobalProcessInfo("PJRT_Client_UpdateGlobalProcessInfo")
    ClientCreateAliasBuffer("PJRT_Client_CreateAliasBuffer")
    ClientFulfillAliasBuffer("PJRT_Client_FulfillAliasBuffer")
    BufferCopyRawToHostFuture("PJRT_Buffer_CopyRawToHostFuture")
    BufferDonateWithControlDependency("PJRT_Buffer_DonateWithControlDependency")
    DevicePoisonExecution("PJRT_Device_PoisonExecution")
    DeviceCreateAsyncTrackingEvent("PJRT_Device_CreateAsyncTrackingEvent")
    AsyncTrackingEventDestroy("PJRT_AsyncTrackingEvent_Destroy")
    ExecutableOptimizedProgram("PJRT_Executable_OptimizedProgram")
    Compile("PJRT_Compile")
    ClientLoad("PJRT_Client_Load")
    TopologyMakeCanonicalShape("PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace")
}
