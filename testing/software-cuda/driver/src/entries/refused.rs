//! Functions that the software driver refuses: all functions that the crate `cudarc` can look up
//! and that no other file defines. A call reports the function's name, so that the user sees which
//! function a program lacks.

use super::entry::answer;
use crate::status::Status;

/// Defines functions that refuse every call. The functions ignore their arguments, so their
/// definitions have no parameters.
macro_rules! refuse {
    ($($name:ident),* $(,)?) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> Status {
            answer(stringify!($name), |driver| {
                driver.reporter.report(concat!(stringify!($name), " is not supported"));
                Err(Status::NOT_SUPPORTED)
            })
        }
    )*};
}

refuse! {
    cuArray3DCreate_v2, cuArray3DGetDescriptor_v2, cuArrayCreate_v2, cuArrayDestroy, cuArrayGetDescriptor_v2,
    cuArrayGetMemoryRequirements, cuArrayGetPlane, cuArrayGetSparseProperties, cuCoredumpDeregisterCompleteCallback,
    cuCoredumpDeregisterStartCallback, cuCoredumpGetAttribute, cuCoredumpGetAttributeGlobal,
    cuCoredumpRegisterCompleteCallback, cuCoredumpRegisterStartCallback, cuCoredumpSetAttribute,
    cuCoredumpSetAttributeGlobal, cuCtxAttach, cuCtxDetach, cuCtxDisablePeerAccess, cuCtxEnablePeerAccess,
    cuCtxFromGreenCtx, cuCtxGetDevResource, cuCtxGetDevice_v2, cuCtxGetExecAffinity, cuCtxGetId,
    cuCtxGetSharedMemConfig, cuCtxRecordEvent, cuCtxResetPersistingL2Cache, cuCtxSetSharedMemConfig,
    cuCtxSynchronize_v2, cuCtxWaitEvent, cuDestroyExternalMemory, cuDestroyExternalSemaphore,
    cuDevResourceGenerateDesc, cuDevSmResourceSplit, cuDevSmResourceSplitByCount, cuDeviceGetByPCIBusId,
    cuDeviceGetCliqueCount, cuDeviceGetCliqueInfo, cuDeviceGetDevResource, cuDeviceGetExecAffinitySupport,
    cuDeviceGetFabricClusterUuid, cuDeviceGetGraphMemAttribute, cuDeviceGetHostAtomicCapabilities, cuDeviceGetLuid,
    cuDeviceGetP2PAtomicCapabilities, cuDeviceGetP2PAttribute, cuDeviceGetPCIBusId, cuDeviceGetProperties,
    cuDeviceGetTexture1DLinearMaxWidth, cuDeviceGraphMemTrim, cuDeviceRegisterAsyncNotification,
    cuDeviceSetGraphMemAttribute, cuDeviceSetMemPool, cuDeviceUnregisterAsyncNotification,
    cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedMipmappedArray, cuFlushGPUDirectRDMAWrites,
    cuFuncGetModule, cuFuncGetName, cuFuncGetParamCount, cuFuncIsLoaded, cuFuncLoad, cuFuncSetBlockShape,
    cuFuncSetSharedMemConfig, cuFuncSetSharedSize, cuGetExportTable, cuGetProcAddress, cuGetProcAddress_v2,
    cuGraphAddBatchMemOpNode, cuGraphAddDependencies_v2, cuGraphAddExternalSemaphoresSignalNode,
    cuGraphAddExternalSemaphoresWaitNode, cuGraphAddKernelNode, cuGraphAddMemAllocNode,
    cuGraphAddNode_v3, cuGraphBatchMemOpNodeGetParams, cuGraphBatchMemOpNodeSetParams,
    cuGraphChildGraphNodeGetGraph, cuGraphDebugDotPrint,
    cuGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeSetEvent, cuGraphEventWaitNodeGetEvent,
    cuGraphEventWaitNodeSetEvent, cuGraphExecBatchMemOpNodeSetParams, cuGraphExecChildGraphNodeSetParams,
    cuGraphExecEventRecordNodeSetEvent, cuGraphExecEventWaitNodeSetEvent,
    cuGraphExecExternalSemaphoresSignalNodeSetParams, cuGraphExecExternalSemaphoresWaitNodeSetParams,
    cuGraphExecGetFlags, cuGraphExecGetId, cuGraphExecHostNodeSetParams, cuGraphExecKernelNodeSetParams,
    cuGraphExecNodeSetParams, cuGraphExecUpdate, cuGraphExternalSemaphoresSignalNodeGetParams,
    cuGraphExternalSemaphoresSignalNodeSetParams, cuGraphExternalSemaphoresWaitNodeGetParams,
    cuGraphExternalSemaphoresWaitNodeSetParams, cuGraphGetEdges, cuGraphGetEdges_v2, cuGraphGetId,
    cuGraphHostNodeGetParams, cuGraphHostNodeSetParams, cuGraphInstantiate_v2, cuGraphKernelNodeCopyAttributes,
    cuGraphKernelNodeGetAttribute, cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2,
    cuGraphKernelNodeSetAttribute, cuGraphKernelNodeSetParams, cuGraphMemAllocNodeGetParams,
    cuGraphMemFreeNodeGetParams, cuGraphMemcpyNodeGetParams, cuGraphMemsetNodeGetParams, cuGraphNodeFindInClone,
    cuGraphNodeGetContainingGraph, cuGraphNodeGetDependencies_v2, cuGraphNodeGetDependentNodes,
    cuGraphNodeGetDependentNodes_v2, cuGraphNodeGetEnabled, cuGraphNodeGetLocalId, cuGraphNodeGetParams,
    cuGraphNodeGetToolsId, cuGraphNodeSetEnabled, cuGraphNodeSetParams, cuGraphNodeSetParams_v2,
    cuGraphReleaseUserObject, cuGraphRemoveDependencies_v2, cuGraphRetainUserObject, cuGraphicsMapResources,
    cuGraphicsResourceGetMappedMipmappedArray, cuGraphicsResourceGetMappedPointer_v2,
    cuGraphicsResourceSetMapFlags_v2, cuGraphicsSubResourceGetMappedArray, cuGraphicsUnmapResources,
    cuGraphicsUnregisterResource, cuGreenCtxCreate, cuGreenCtxDestroy, cuGreenCtxGetDevResource, cuGreenCtxGetId,
    cuGreenCtxRecordEvent, cuGreenCtxStreamCreate, cuGreenCtxWaitEvent, cuImportExternalMemory,
    cuImportExternalSemaphore, cuIpcCloseMemHandle, cuIpcGetEventHandle, cuIpcGetMemHandle, cuIpcOpenEventHandle,
    cuIpcOpenMemHandle_v2, cuKernelGetAttribute, cuKernelGetFunction, cuKernelGetLibrary, cuKernelGetName,
    cuKernelGetParamCount, cuKernelGetParamInfo, cuKernelSetAttribute, cuKernelSetCacheConfig, cuLaunch,
    cuLaunchCooperativeKernelMultiDevice, cuLaunchGrid, cuLaunchGridAsync, cuLaunchHostFunc_v2,
    cuLibraryEnumerateKernels, cuLibraryGetGlobal, cuLibraryGetKernel, cuLibraryGetKernelCount, cuLibraryGetManaged,
    cuLibraryGetModule, cuLibraryGetUnifiedFunction, cuLibraryLoadData, cuLibraryLoadFromFile, cuLibraryUnload,
    cuLinkAddData_v2, cuLinkAddFile_v2, cuLinkComplete, cuLinkCreate_v2, cuLinkDestroy, cuLogicalEndpointAddDevice,
    cuLogicalEndpointBindAddr, cuLogicalEndpointBindMem, cuLogicalEndpointCreate, cuLogicalEndpointDestroy,
    cuLogicalEndpointExport, cuLogicalEndpointGetLimits, cuLogicalEndpointIdRelease, cuLogicalEndpointIdReserve,
    cuLogicalEndpointImport, cuLogicalEndpointQuery, cuLogicalEndpointUnbind, cuLogsCurrent, cuLogsDumpToFile,
    cuLogsDumpToMemory, cuLogsRegisterCallback, cuLogsUnregisterCallback, cuMemAddressFree, cuMemAddressReserve,
    cuMemAdvise, cuMemAdvise_v2, cuMemAllocManaged, cuMemAllocPitch_v2, cuMemBatchDecompressAsync, cuMemCreate,
    cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardBatchAsync, cuMemExportToShareableHandle, cuMemGetAccess,
    cuMemGetAllocationGranularity, cuMemGetAllocationPropertiesFromHandle, cuMemGetDefaultMemPool,
    cuMemGetHandleForAddressRange, cuMemGetLocationInfo, cuMemGetMemPool, cuMemHostGetDevicePointer_v2,
    cuMemHostGetFlags, cuMemImportFromShareableHandle, cuMemMap, cuMemMapArrayAsync, cuMemPoolExportPointer,
    cuMemPoolExportToShareableHandle, cuMemPoolGetAccess, cuMemPoolImportFromShareableHandle, cuMemPoolImportPointer,
    cuMemPoolSetAccess, cuMemPrefetchAsync, cuMemPrefetchAsync_v2, cuMemPrefetchBatchAsync, cuMemRangeGetAttribute,
    cuMemRangeGetAttributes, cuMemRelease, cuMemRetainAllocationHandle, cuMemSetAccess, cuMemSetMemPool, cuMemUnmap,
    cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_v2, cuMemcpy3DPeer, cuMemcpy3DPeerAsync, cuMemcpy3DWithAttributesAsync,
    cuMemcpyAtoA_v2, cuMemcpyAtoD_v2, cuMemcpyAtoHAsync_v2, cuMemcpyAtoH_v2, cuMemcpyBatchAsync,
    cuMemcpyBatchAsync_v2, cuMemcpyDtoA_v2, cuMemcpyHtoAAsync_v2, cuMemcpyHtoA_v2, cuMemcpyWithAttributesAsync,
    cuMemsetD2D16Async, cuMemsetD2D16_v2, cuMemsetD2D32_v2, cuMemsetD2D8Async, cuMemsetD2D8_v2,
    cuMipmappedArrayCreate, cuMipmappedArrayDestroy, cuMipmappedArrayGetLevel, cuMipmappedArrayGetMemoryRequirements,
    cuMipmappedArrayGetSparseProperties, cuModuleEnumerateFunctions, cuModuleGetSurfRef, cuModuleGetTexRef,
    cuModuleLoadFatBinary, cuMulticastAddDevice, cuMulticastBindAddr, cuMulticastBindAddr_v2, cuMulticastBindMem,
    cuMulticastBindMem_v2, cuMulticastCreate, cuMulticastGetGranularity, cuMulticastUnbind,
    cuOccupancyAvailableDynamicSMemPerBlock, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    cuOccupancyMaxActiveClusters, cuOccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSizeWithFlags,
    cuOccupancyMaxPotentialClusterSize, cuParamSetSize, cuParamSetTexRef, cuParamSetf, cuParamSeti, cuParamSetv,
    cuPointerGetAttributes, cuPointerSetAttribute, cuProfilerInitialize, cuProfilerStart, cuProfilerStop,
    cuSignalExternalSemaphoresAsync, cuStreamAttachMemAsync, cuStreamBatchMemOp, cuStreamBatchMemOp_v2,
    cuStreamBeginCaptureToCig, cuStreamBeginRecaptureToGraph, cuStreamCopyAttributes, cuStreamEndCaptureToCig,
    cuStreamGetAttribute, cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3, cuStreamGetCtx_v2,
    cuStreamGetDevResource, cuStreamGetDevice, cuStreamGetGreenCtx, cuStreamGetId, cuStreamSetAttribute,
    cuStreamUpdateCaptureDependencies_v2, cuStreamWaitValue32, cuStreamWaitValue32_v2, cuStreamWaitValue64,
    cuStreamWaitValue64_v2, cuStreamWriteValue32, cuStreamWriteValue32_v2, cuStreamWriteValue64,
    cuStreamWriteValue64_v2, cuSurfObjectCreate, cuSurfObjectDestroy, cuSurfObjectGetResourceDesc, cuSurfRefGetArray,
    cuSurfRefSetArray, cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2colWide, cuTensorMapEncodeTiled,
    cuTensorMapReplaceAddress, cuTexObjectCreate, cuTexObjectDestroy, cuTexObjectGetResourceDesc,
    cuTexObjectGetResourceViewDesc, cuTexObjectGetTextureDesc, cuTexRefCreate, cuTexRefDestroy,
    cuTexRefGetAddressMode, cuTexRefGetAddress_v2, cuTexRefGetArray, cuTexRefGetBorderColor, cuTexRefGetFilterMode,
    cuTexRefGetFlags, cuTexRefGetFormat, cuTexRefGetMaxAnisotropy, cuTexRefGetMipmapFilterMode,
    cuTexRefGetMipmapLevelBias, cuTexRefGetMipmapLevelClamp, cuTexRefGetMipmappedArray, cuTexRefSetAddress2D_v3,
    cuTexRefSetAddressMode, cuTexRefSetAddress_v2, cuTexRefSetArray, cuTexRefSetBorderColor, cuTexRefSetFilterMode,
    cuTexRefSetFlags, cuTexRefSetFormat, cuTexRefSetMaxAnisotropy, cuTexRefSetMipmapFilterMode,
    cuTexRefSetMipmapLevelBias, cuTexRefSetMipmapLevelClamp, cuTexRefSetMipmappedArray,
    cuThreadExchangeStreamCaptureMode, cuUserObjectCreate, cuUserObjectRelease, cuUserObjectRetain,
    cuWaitExternalSemaphoresAsync,
}
