//! Loads an object into executable memory and looks up its functions.

use std::collections::HashMap;

use memmap2::{Mmap, MmapMut};
use object::Object;

use super::image::ImageLayout;
use super::relocate;
use super::symbols::ProvidedSymbols;
use crate::LoadError;

/// An object in executable memory. Dropping a [`LoadedObject`] unmaps its code, so a
/// [`LoadedObject`] must outlive every call of its functions.
#[derive(Debug)]
pub struct LoadedObject {
    mapping: Mmap,
    functions: HashMap<String, usize>,
    sites: Vec<String>,
}

impl LoadedObject {
    /// Links a relocatable x86-64 ELF object and loads it. Fails if `bytes` are not a relocatable
    /// x86-64 ELF object, or if the object refers to unknown symbols. Also fails for objects with
    /// ELF features that kernels do not need. Besides a few functions of the C library, the code
    /// may call the functions `provided`.
    pub fn load(bytes: &[u8], sites: &[String], provided: &ProvidedSymbols) -> Result<LoadedObject, LoadError> {
        let file = object::File::parse(bytes).map_err(|e| LoadError::Object(e.to_string()))?;
        if file.architecture() != object::Architecture::X86_64 || file.kind() != object::ObjectKind::Relocatable {
            return Err(LoadError::Object("not a relocatable x86-64 ELF object".into()));
        }
        let plan = ImageLayout::of(&file, provided)?;
        let system = |what| move |source| LoadError::System { what, source };
        let mut memory = MmapMut::map_anon(plan.bytes.max(1)).map_err(system("mapping memory for code"))?;
        plan.fill(&file, &mut memory)?;
        relocate::apply(&file, &plan, &mut memory)?;
        let mapping = memory.make_exec().map_err(system("making code executable"))?;
        Ok(LoadedObject { mapping, functions: plan.functions(&file), sites: sites.to_vec() })
    }

    /// Returns the description of position number `number` in a kernel's code.
    pub fn site(&self, number: i32) -> Option<&str> {
        usize::try_from(number).ok().and_then(|n| self.sites.get(n)).map(String::as_str)
    }

    /// Returns the address of a function; `None` if the object has no function with this name.
    pub fn function(&self, name: &str) -> Option<*const u8> {
        let &offset = self.functions.get(name)?;
        self.mapping.get(offset..).map(<[u8]>::as_ptr)
    }
}
