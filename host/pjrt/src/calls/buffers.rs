//! Functions that return properties of buffers, and functions that delete or destroy buffers.

use crate::abi::{Call, Handle, List, MemoryLayout, Reference, arguments};
use crate::buffer::Buffer;
use crate::client::{Device, Memory};
use crate::element::{BufferType, is_narrow};
use crate::error::Answer;
use crate::event::Event;

arguments! {
    BufferDestroy("PJRT_Buffer_Destroy") { buffer: Handle<Buffer>, }
    BufferElementType("PJRT_Buffer_ElementType") { buffer: Handle<Buffer>, kind: BufferType, }
    BufferDimensions("PJRT_Buffer_Dimensions") { buffer: Handle<Buffer>, dims: List<i64>, }
    BufferUnpaddedDimensions("PJRT_Buffer_UnpaddedDimensions") { buffer: Handle<Buffer>, dims: List<i64>, }
    BufferDynamicDimensionIndices("PJRT_Buffer_DynamicDimensionIndices") {
        buffer: Handle<Buffer>,
        indices: List<usize>,
    }
    BufferGetMemoryLayout("PJRT_Buffer_GetMemoryLayout") { buffer: Handle<Buffer>, layout: MemoryLayout, }
    BufferOnDeviceSizeInBytes("PJRT_Buffer_OnDeviceSizeInBytes") { buffer: Handle<Buffer>, bytes: usize, }
    BufferDevice("PJRT_Buffer_Device") { buffer: Handle<Buffer>, device: Reference<Device>, }
    BufferMemory("PJRT_Buffer_Memory") { buffer: Handle<Buffer>, memory: Reference<Memory>, }
    BufferDelete("PJRT_Buffer_Delete") { buffer: Handle<Buffer>, }
    BufferIsDeleted("PJRT_Buffer_IsDeleted") { buffer: Handle<Buffer>, is_deleted: u8, }
    BufferIsOnCpu("PJRT_Buffer_IsOnCpu") { buffer: Handle<Buffer>, is_on_cpu: u8, }
    BufferReadyEvent("PJRT_Buffer_ReadyEvent") { buffer: Handle<Buffer>, event: Handle<Event>, }
    BufferUnsafePointer("PJRT_Buffer_UnsafePointer") { buffer: Handle<Buffer>, address: usize, }
    BufferIncreaseExternalReferenceCount("PJRT_Buffer_IncreaseExternalReferenceCount") { buffer: Handle<Buffer>, }
    BufferDecreaseExternalReferenceCount("PJRT_Buffer_DecreaseExternalReferenceCount") { buffer: Handle<Buffer>, }
    BufferOpaqueDeviceMemoryDataPointer("PJRT_Buffer_OpaqueDeviceMemoryDataPointer") {
        buffer: Handle<Buffer>,
        address: *const u8,
    }
}

impl Call for BufferDestroy {
    fn call(&mut self) -> Answer {
        self.buffer.destroy()
    }
}

impl Call for BufferElementType {
    fn call(&mut self) -> Answer {
        self.kind = self.buffer.get()?.kind;
        Ok(())
    }
}

impl Call for BufferDimensions {
    fn call(&mut self) -> Answer {
        self.dims = List::of(&self.buffer.get()?.dims);
        Ok(())
    }
}

impl Call for BufferUnpaddedDimensions {
    fn call(&mut self) -> Answer {
        self.dims = List::of(&self.buffer.get()?.dims);
        Ok(())
    }
}

impl Call for BufferDynamicDimensionIndices {
    /// Returns an empty list, because the sizes of all dimensions are fixed.
    fn call(&mut self) -> Answer {
        self.buffer.get()?;
        self.indices = List::of(&[]);
        Ok(())
    }
}

impl Call for BufferGetMemoryLayout {
    fn call(&mut self) -> Answer {
        self.layout = MemoryLayout::of(self.buffer.get()?.minor_to_major());
        Ok(())
    }
}

impl Call for BufferOnDeviceSizeInBytes {
    fn call(&mut self) -> Answer {
        self.bytes = self.buffer.get()?.byte_size()?;
        Ok(())
    }
}

impl Call for BufferDevice {
    fn call(&mut self) -> Answer {
        self.device = Reference::to(self.buffer.get()?.device()?);
        Ok(())
    }
}

impl Call for BufferMemory {
    fn call(&mut self) -> Answer {
        self.memory = Reference::to(self.buffer.get()?.memory()?);
        Ok(())
    }
}

impl Call for BufferDelete {
    fn call(&mut self) -> Answer {
        self.buffer.get()?.delete();
        Ok(())
    }
}

impl Call for BufferIsDeleted {
    fn call(&mut self) -> Answer {
        self.is_deleted = self.buffer.get()?.is_deleted().into();
        Ok(())
    }
}

impl Call for BufferIsOnCpu {
    /// States whether the caller may read the buffer's memory directly, so that NumPy needs no
    /// copy. The caller may not do this with integers narrower than a byte, because their unused
    /// bits are undefined until fusebox copies the buffer.
    fn call(&mut self) -> Answer {
        let kind = self.buffer.get()?.kind;
        self.is_on_cpu = (kind != BufferType::TOKEN && !is_narrow(kind.element()?)).into();
        Ok(())
    }
}

impl Call for BufferReadyEvent {
    fn call(&mut self) -> Answer {
        self.event = Handle::of(self.buffer.get()?.ready())?;
        Ok(())
    }
}

impl Call for BufferUnsafePointer {
    fn call(&mut self) -> Answer {
        self.address = self.buffer.get()?.address()? as usize;
        Ok(())
    }
}

impl Call for BufferIncreaseExternalReferenceCount {
    fn call(&mut self) -> Answer {
        self.buffer.get()?.begin_view()
    }
}

impl Call for BufferDecreaseExternalReferenceCount {
    fn call(&mut self) -> Answer {
        self.buffer.get()?.end_view()
    }
}

impl Call for BufferOpaqueDeviceMemoryDataPointer {
    fn call(&mut self) -> Answer {
        self.address = self.buffer.get()?.address()?;
        Ok(())
    }
}
