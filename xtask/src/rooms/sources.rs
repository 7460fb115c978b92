//! The sources, parsed: the names that each file uses of others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use syn::visit::Visit;
use syn::{Attribute, Item, UseTree};

/// A name that one file takes from another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Import {
    /// The module that uses the name.
    pub(super) from: String,
    /// The module that defines the name.
    pub(super) to: String,
    /// The name.
    pub(super) name: String,
}

/// All modules, and the names that they take from each other.
#[derive(Default, Debug)]
pub(super) struct Sources {
    pub(super) files: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// The types of other modules that a module adds methods to.
    pub(super) methods: Vec<Import>,
}

/// A path from the crate's root.
type Segments = Vec<String>;

/// One file, before its names are followed.
#[derive(Default)]
struct File {
    /// The paths into the crate that the file uses.
    used: BTreeSet<Segments>,
    /// The names that the file imports, each with its source.
    names: BTreeMap<String, Segments>,
    /// The imported names that the file re-exports.
    passed_on: BTreeSet<String>,
    /// The types that the file has an inherent `impl` of.
    methods: BTreeSet<String>,
    /// The types that the file defines.
    types: BTreeSet<String>,
}

/// Modules that consist of tests.
const TESTS: [&str; 4] = ["scenarios", "loom_tests", "tests", "test"];

/// The crate's root, to which no rules apply: it only re-exports names.
const ROOT: &str = "lib";

impl Sources {
    /// Reads all files below a directory.
    pub(super) fn read(directory: &Path) -> Result<Sources> {
        let mut files = BTreeMap::new();
        read_directory(directory, &[], &mut files)?;
        let mut sources =
            Sources { files: files.keys().filter(|module| *module != ROOT).cloned().collect(), ..Sources::default() };
        for (module, file) in files.iter().filter(|(module, _)| *module != ROOT) {
            let imports = file.used.iter().filter_map(|path| follow(&files, path, 0));
            let imports = imports.filter(|(to, _)| to != module && to != ROOT);
            let found: BTreeSet<_> = imports.map(|(to, name)| Import { from: module.clone(), to, name }).collect();
            sources.imports.extend(found);
            for name in file.methods.difference(&file.types) {
                let defined = file.names.get(name).and_then(|path| follow(&files, path, 0));
                let import = defined.map(|(to, name)| Import { from: module.clone(), to, name });
                sources.methods.extend(import.filter(|import| import.to != *module));
            }
        }
        Ok(sources)
    }
}

fn read_directory(directory: &Path, above: &[String], files: &mut BTreeMap<String, File>) -> Result<()> {
    let entries = std::fs::read_dir(directory).with_context(|| format!("read {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if TESTS.contains(&&*stem) || stem.ends_with("_tests") {
            continue;
        }
        let inner = || [above, std::slice::from_ref(&stem)].concat();
        if path.is_dir() {
            read_directory(&path, &inner(), files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let module = if stem == "mod" { above.to_vec() } else { inner() };
            let text = std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            let parsed = syn::parse_file(&text).with_context(|| format!("parse {}", path.display()))?;
            files.insert(module.join("::"), read_file(&parsed, module));
        }
    }
    Ok(())
}

fn read_file(parsed: &syn::File, module: Segments) -> File {
    let base = if module == [ROOT] { Segments::new() } else { module };
    let mut reader = Reader { file: File::default(), module: base };
    parsed.items.iter().for_each(|item| reader.visit_item(item));
    reader.file
}

/// The visitor that reads one file.
struct Reader {
    file: File,
    module: Segments,
}

impl Reader {
    /// Returns a path from the crate's root, if the path is within the crate.
    fn resolve(&self, path: &[String]) -> Option<Segments> {
        match path.first().map(String::as_str) {
            Some("crate") => Some(path[1..].to_vec()),
            Some("self") => Some([&self.module[..], &path[1..]].concat()),
            Some("super") => {
                let ups = path.iter().take_while(|segment| *segment == "super").count();
                let kept = self.module.len().checked_sub(ups)?;
                Some([&self.module[..kept], &path[ups..]].concat())
            }
            // The root and a folder's first file name their own modules.
            Some(_) if self.is_own_module(path) => Some([&self.module[..], path].concat()),
            _ => None,
        }
    }

    fn is_own_module(&self, path: &[String]) -> bool {
        path.len() > 1 && self.file.types.contains(&format!("mod {}", path[0]))
    }

    fn uses(&mut self, tree: &UseTree, prefix: &[String], passes_on: bool) {
        let behind = |name: &syn::Ident| [prefix, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.uses(&path.tree, &behind(&path.ident), passes_on),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.uses(tree, prefix, passes_on)),
            UseTree::Name(name) if name.ident == "self" => {
                let own = prefix.last().cloned().unwrap_or_default();
                self.named(own, prefix.to_vec(), passes_on);
            }
            UseTree::Name(name) => self.named(name.ident.to_string(), behind(&name.ident), passes_on),
            UseTree::Rename(name) => self.named(name.rename.to_string(), behind(&name.ident), passes_on),
            _ => {}
        }
    }

    fn named(&mut self, name: String, path: Segments, passes_on: bool) {
        let Some(path) = self.resolve(&path) else { return };
        if passes_on {
            self.file.passed_on.insert(name.clone());
        } else {
            self.file.used.insert(path.clone());
        }
        self.file.names.insert(name, path);
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if attributes(item).iter().any(is_for_tests) {
            return;
        }
        match item {
            Item::Use(item) => {
                // A re-export that is visible within the folder only counts as one as well.
                let passes_on = !matches!(item.vis, syn::Visibility::Inherited);
                self.uses(&item.tree, &[], passes_on);
            }
            Item::Mod(item) => _ = self.file.types.insert(format!("mod {}", item.ident)),
            Item::Struct(item) => _ = self.file.types.insert(item.ident.to_string()),
            Item::Enum(item) => _ = self.file.types.insert(item.ident.to_string()),
            Item::Impl(item) if item.trait_.is_none() => {
                if let syn::Type::Path(path) = &*item.self_ty
                    && let Some(last) = path.path.segments.last()
                {
                    self.file.methods.insert(last.ident.to_string());
                }
            }
            _ => {}
        }
        syn::visit::visit_item(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if matches!(segments.first().map(String::as_str), Some("crate" | "super" | "self"))
            && segments.len() > 1
            && let Some(path) = self.resolve(&segments)
        {
            self.file.used.insert(path);
        }
        syn::visit::visit_path(self, path);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns whether an item with this attribute is compiled for tests only.
fn is_for_tests(attribute: &Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    let tokens = list.tokens.to_string();
    list.path.is_ident("cfg") && (tokens == "test" || tokens.starts_with("all (test") || tokens.starts_with("all(test"))
}

/// Returns the module that defines the item of a path, and its name there.
fn follow(files: &BTreeMap<String, File>, path: &[String], depth: usize) -> Option<(String, String)> {
    const DEEPEST: usize = 8;
    let (module, rest) = (0..=path.len()).rev().find_map(|length| {
        let module = if length == 0 { ROOT.to_owned() } else { path[..length].join("::") };
        files.contains_key(&module).then(|| (module, &path[length..]))
    })?;
    let name = rest.first().cloned().unwrap_or_else(|| "self".into());
    let file = &files[&module];
    match file.names.get(&name).filter(|_| file.passed_on.contains(&name) && depth < DEEPEST) {
        Some(origin) => follow(files, origin, depth + 1),
        None => Some((module, name)),
    }
}
