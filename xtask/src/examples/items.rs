//! The public items of a library, read from its sources.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Ident, ImplItem, Item as Source, TraitItem, Type, UseTree, Visibility};

use super::docs::Docs;

/// Modules that consist of tests.
const TESTS: [&str; 3] = ["scenarios", "loom_tests", "tests"];

/// A public item.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The name, with the type before it: `Vfs`, `Vfs::builder`.
    pub(super) name: String,
    pub(super) file: PathBuf,
    pub(super) kind: Kind,
    pub(super) docs: Docs,
}

/// The kinds of items that are covered in different ways.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// A type, trait, function or constant.
    Alone,
    /// A method or associated constant.
    Method {
        of: String,
        /// The documentation of its `impl` block.
        block: Docs,
    },
    /// A method of a trait.
    OfTrait,
}

impl Item {
    /// Returns the documentation of what it stands in: the `impl` block, and the type.
    pub(super) fn around<'a>(&'a self, all: &'a [Item]) -> impl Iterator<Item = &'a Docs> {
        let (of, block) = match &self.kind {
            Kind::Method { of, block } => (Some(of), Some(block)),
            Kind::Alone | Kind::OfTrait => (None, None),
        };
        let types = all.iter().filter(move |item| Some(&item.name) == of);
        block.into_iter().chain(types.map(|item| &item.docs))
    }
}

/// Reads the public items of the library whose sources are in a directory.
pub(super) fn read(sources: &Path) -> Result<Vec<Item>> {
    let root = parse(&sources.join("lib.rs"))?;
    let mut names = BTreeSet::new();
    exported(&root, &mut names);
    let open = root.items.iter().filter_map(|item| match item {
        Source::Mod(module) if is_public(&module.vis) && !is_hidden(&module.attrs) => Some(module.ident.to_string()),
        _ => None,
    });
    for module in open {
        let file = [sources.join(format!("{module}.rs")), sources.join(&module).join("mod.rs")];
        let file = file.into_iter().find(|file| file.exists()).context("a public module has no file")?;
        exported(&parse(&file)?, &mut names);
    }
    let mut items = Vec::new();
    read_directory(sources, &names, &mut items)?;
    items.sort_by(|left, right| (&left.file, &left.name).cmp(&(&right.file, &right.name)));
    Ok(items)
}

fn parse(file: &Path) -> Result<syn::File> {
    let text = std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    syn::parse_file(&text).with_context(|| format!("parse {}", file.display()))
}

fn read_directory(directory: &Path, names: &BTreeSet<String>, items: &mut Vec<Item>) -> Result<()> {
    let entries = std::fs::read_dir(directory).with_context(|| format!("read {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if TESTS.contains(&&*stem) {
            continue;
        }
        if path.is_dir() {
            read_directory(&path, names, items)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            items.extend(of_file(&path, &parse(&path)?, names));
        }
    }
    Ok(())
}

/// Adds the names that a file makes public.
fn exported(file: &syn::File, names: &mut BTreeSet<String>) {
    for item in &file.items {
        match item {
            Source::Use(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => leaves(&item.tree, names),
            _ => names.extend(head(item).filter(|head| is_public(head.visibility)).map(|head| head.name.to_string())),
        }
    }
}

fn leaves(tree: &UseTree, names: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => leaves(&path.tree, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, names)),
        UseTree::Name(name) => _ = names.insert(name.ident.to_string()),
        UseTree::Rename(name) => _ = names.insert(name.ident.to_string()),
        _ => {}
    }
}

/// Returns the public items of one file, of those with these names.
pub(super) fn of_file(path: &Path, file: &syn::File, names: &BTreeSet<String>) -> Vec<Item> {
    let mut items = Vec::new();
    let mut add = |name: String, kind, attributes: &[Attribute]| {
        if !is_hidden(attributes) {
            items.push(Item { name, file: path.to_owned(), kind, docs: Docs::of(attributes) });
        }
    };
    for source in &file.items {
        let named = head(source).filter(|head| is_public(head.visibility) && names.contains(&head.name.to_string()));
        if let Some(head) = named {
            add(head.name.to_string(), Kind::Alone, head.attributes);
        }
        match source {
            Source::Trait(item) if names.contains(&item.ident.to_string()) => {
                for inner in &item.items {
                    if let TraitItem::Fn(method) = inner {
                        add(format!("{}::{}", item.ident, method.sig.ident), Kind::OfTrait, &method.attrs);
                    }
                }
            }
            Source::Impl(item) if item.trait_.is_none() => {
                let Some(of) = type_name(&item.self_ty).filter(|name| names.contains(name)) else { continue };
                let block = Docs::of(&item.attrs);
                for inner in &item.items {
                    let (name, visibility, attributes) = match inner {
                        ImplItem::Fn(method) => (&method.sig.ident, &method.vis, &method.attrs),
                        ImplItem::Const(constant) => (&constant.ident, &constant.vis, &constant.attrs),
                        _ => continue,
                    };
                    if is_public(visibility) {
                        let kind = Kind::Method { of: of.clone(), block: block.clone() };
                        add(format!("{of}::{name}"), kind, attributes);
                    }
                }
            }
            Source::Macro(item) if item.mac.path.is_ident("bitflags") => {
                if let Ok(flags) = item.mac.parse_body::<Flags>()
                    && is_public(&flags.visibility)
                    && names.contains(&flags.name.to_string())
                {
                    add(flags.name.to_string(), Kind::Alone, &flags.attributes);
                }
            }
            _ => {}
        }
    }
    items
}

/// The head of an item: what is needed of each kind of item.
struct Head<'a> {
    name: &'a Ident,
    visibility: &'a Visibility,
    attributes: &'a [Attribute],
}

fn head(item: &Source) -> Option<Head<'_>> {
    let (name, visibility, attributes) = match item {
        Source::Struct(item) => (&item.ident, &item.vis, &item.attrs),
        Source::Enum(item) => (&item.ident, &item.vis, &item.attrs),
        Source::Trait(item) => (&item.ident, &item.vis, &item.attrs),
        Source::Type(item) => (&item.ident, &item.vis, &item.attrs),
        Source::Const(item) => (&item.ident, &item.vis, &item.attrs),
        Source::Static(item) => (&item.ident, &item.vis, &item.attrs),
        Source::Fn(item) => (&item.sig.ident, &item.vis, &item.attrs),
        _ => return None,
    };
    Some(Head { name, visibility, attributes })
}

/// The head of the type that `bitflags!` makes.
struct Flags {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    name: Ident,
}

impl Parse for Flags {
    fn parse(input: ParseStream) -> syn::Result<Flags> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        input.parse::<syn::Token![struct]>()?;
        let name = input.parse()?;
        // The type of the bits, and the flags.
        input.step(|cursor| {
            let mut rest = *cursor;
            while let Some((_, next)) = rest.token_tree() {
                rest = next;
            }
            Ok(((), rest))
        })?;
        Ok(Flags { attributes, visibility, name })
    }
}

fn type_name(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    path.path.segments.last().map(|last| last.ident.to_string())
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Returns whether an item is left out of the documentation.
fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("doc") && list.tokens.to_string() == "hidden",
        _ => false,
    })
}
