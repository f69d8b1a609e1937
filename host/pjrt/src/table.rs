//! The table of functions, in the order of the interface.

use std::ffi::c_void;

use crate::abi::{Arguments, ErrorDestroy, ErrorForEachPayload, ErrorGetCode, ErrorMessage, Header, entry};
use crate::calls::*;

/// Version of the interface that the table of functions implements.
const VERSION: Version =
    Version { header: Header::of(std::mem::offset_of!(Version, minor) + size_of::<i32>()), major: 0, minor: 112 };

#[repr(C)]
struct Version {
    header: Header,
    major: i32,
    minor: i32,
}

/// The table of functions, with its version.
#[repr(C)]
pub struct Api {
    header: Header,
    version: Version,
    functions: [Function; COUNT],
}

/// The extension that tells how programs are divided among devices. The interface gives each
/// extension a number, and links the extensions to a list.
#[repr(C)]
struct ShardingsExtension {
    size: usize,
    number: i32,
    next: *const c_void,
    parameters: Function,
    outputs: Function,
}

// SAFETY: the only pointer is null.
unsafe impl Sync for ShardingsExtension {}

static SHARDINGS: ShardingsExtension = ShardingsExtension {
    size: size_of::<ShardingsExtension>(),
    number: 19,
    next: std::ptr::null(),
    parameters: Function(entry::<ExecutableParameterShardings> as *const c_void),
    outputs: Function(entry::<ExecutableOutputShardings> as *const c_void),
};

/// A function of the interface. The functions have different types, but each function takes one
/// pointer. In the interface, two of the functions return nothing; in fusebox, they return a null
/// pointer, which their callers ignore.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct Function(*const c_void);

// SAFETY: the pointers refer to functions and to the extension, and do not change.
unsafe impl Sync for Api {}

macro_rules! table {
    ($($function:ident)*) => {
        /// Number of functions.
        const COUNT: usize = NAMES.len();

        /// Names of the functions, in the table's order.
        pub const NAMES: &[&str] = &[$(<$function as Arguments>::NAME),*];

        static API: Api = Api {
            header: Header::with(size_of::<Api>(), (&raw const SHARDINGS).cast()),
            version: VERSION,
            functions: [$(Function(entry::<$function> as *const c_void)),*],
        };
    };
}

table! {
    ErrorDestroy
    ErrorMessage
    ErrorGetCode
    PluginInitialize
    PluginAttributes
    EventDestroy
    EventIsReady
    EventError
    EventAwait
    EventOnReady
    ClientCreate
    ClientDestroy
    ClientPlatformName
    ClientProcessIndex
    ClientPlatformVersion
    ClientDevices
    ClientAddressableDevices
    ClientLookupDevice
    ClientLookupAddressableDevice
    ClientAddressableMemories
    ClientCompile
    ClientDefaultDeviceAssignment
    ClientBufferFromHostBuffer
    DeviceDescriptionId
    DeviceDescriptionProcessIndex
    DeviceDescriptionAttributes
    DeviceDescriptionKind
    DeviceDescriptionDebugString
    DeviceDescriptionToString
    DeviceGetDescription
    DeviceIsAddressable
    DeviceLocalHardwareId
    DeviceAddressableMemories
    DeviceDefaultMemory
    DeviceMemoryStats
    MemoryId
    MemoryKind
    MemoryDebugString
    MemoryToString
    MemoryAddressableByDevices
    ExecutableDestroy
    ExecutableName
    ExecutableNumReplicas
    ExecutableNumPartitions
    ExecutableNumOutputs
    ExecutableSizeOfGeneratedCode
    ExecutableGetCostAnalysis
    ExecutableOutputMemoryKinds
    ExecutableOptimizedProgram
    ExecutableSerialize
    LoadedDestroy
    LoadedGetExecutable
    LoadedAddressableDevices
    LoadedDelete
    LoadedIsDeleted
    LoadedExecute
    ExecutableDeserializeAndLoad
    LoadedFingerprint
    BufferDestroy
    BufferElementType
    BufferDimensions
    BufferUnpaddedDimensions
    BufferDynamicDimensionIndices
    BufferGetMemoryLayout
    BufferOnDeviceSizeInBytes
    BufferDevice
    BufferMemory
    BufferDelete
    BufferIsDeleted
    BufferCopyToDevice
    BufferToHostBuffer
    BufferIsOnCpu
    BufferReadyEvent
    BufferUnsafePointer
    BufferIncreaseExternalReferenceCount
    BufferDecreaseExternalReferenceCount
    BufferOpaqueDeviceMemoryDataPointer
    CopyStreamDestroy
    CopyStreamAddChunk
    CopyStreamTotalBytes
    CopyStreamGranuleSize
    CopyStreamCurrentBytes
    TopologyCreate
    TopologyDestroy
    TopologyPlatformName
    TopologyPlatformVersion
    TopologyGetDeviceDescriptions
    TopologySerialize
    TopologyAttributes
    Compile
    ExecutableOutputElementTypes
    ExecutableOutputDimensions
    BufferCopyToMemory
    ClientCreateViewOfDeviceBuffer
    ExecutableFingerprint
    ClientTopologyDescription
    ExecutableGetCompiledMemoryStats
    MemoryKindId
    ExecuteContextCreate
    ExecuteContextDestroy
    BufferCopyRawToHost
    TransferManagerDestroy
    TransferManagerTransferData
    ClientCreateBuffersForAsyncHostToDevice
    TransferManagerRetrieveBuffer
    TransferManagerDevice
    TransferManagerBufferCount
    TransferManagerBufferSize
    TransferManagerSetBufferError
    TransferManagerAddMetadata
    ClientDmaMap
    ClientDmaUnmap
    ClientCreateUninitializedBuffer
    ClientUpdateGlobalProcessInfo
    TopologyDeserialize
    ClientCreateAliasBuffer
    ClientFulfillAliasBuffer
    LoadedGetDeviceAssignment
    ClientCreateErrorBuffer
    TransferManagerTransferLiteral
    BufferCopyRawToHostFuture
    DevicePoisonExecution
    DeviceCreateAsyncTrackingEvent
    AsyncTrackingEventDestroy
    ExecutableGetCompileOptions
    BufferDonateWithControlDependency
    EventCreate
    EventSet
    DeviceGetAttributes
    ClientLoad
    LoadedAddressableDeviceLogicalIds
    BufferBitcast
    ErrorForEachPayload
    TopologyFingerprint
    ExecutableParameterMemoryKinds
    DeviceClearMemoryStats
    TopologyMakeCanonicalShape
    TopologyGetMemorySpaceKindIds
}

/// Returns the table.
pub fn api() -> *const Api {
    &raw const API
}

#[cfg(test)]
mod tests {
    use super::{API, Api, NAMES, VERSION};

    #[test]
    fn the_table_has_the_size_of_the_interface() {
        assert_eq!((NAMES.len(), size_of::<Api>()), (138, 1144));
        assert_eq!((VERSION.header.size, API.header.size), (24, 1144));
        let mut sorted = NAMES.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), NAMES.len(), "every function has its own name");
    }
}
