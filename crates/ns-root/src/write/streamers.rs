//! The layout of the classes in a file, so that later versions of ROOT, with other layouts, read it.

use super::bytes::Bytes;

/// A class as ROOT describes it.
struct Class {
    name: &'static str,
    version: u32,
    /// ROOT's own number of this layout.
    checksum: u32,
    elements: &'static [Element],
}

/// A member of a class.
enum Element {
    /// Name, version and checksum of a class that it derives from.
    Base(&'static str, u32, u32),
    /// Name, type, ROOT's number of the type, and size of a number.
    Number(&'static str, &'static str, u32, u32),
    /// Name of a text.
    Text(&'static str),
    /// Name and type of an array; name, class and version of the member that has its length.
    Buffer(&'static str, &'static str, &'static str, &'static str, u32),
    /// Name, class and size in memory of an object that derives from `TObject`.
    Object(&'static str, &'static str, u32),
    /// Name, class and size in memory of another object.
    Any(&'static str, &'static str, u32),
    /// Name and class of an object that is always there.
    Owned(&'static str, &'static str),
    /// Name and class of an object that may be missing.
    Pointer(&'static str, &'static str),
}

use Element::{Any, Base, Buffer, Number, Object, Owned, Pointer, Text};

/// The bytes of the list of classes behind a key of length `key`.
pub(super) fn list(key: usize) -> Vec<u8> {
    let mut b = Bytes::behind(key);
    b.list(CLASSES.iter(), |b, class| b.pointer("TStreamerInfo", |b| describe(b, class)));
    b.out
}

fn describe(b: &mut Bytes, class: &Class) {
    b.sized(9, |b| {
        b.named(class.name, "");
        b.u32(class.checksum);
        b.u32(class.version);
        b.pointer("TObjArray", |b| {
            b.sized(3, |b| {
                b.object(0);
                b.text("");
                b.size(class.elements.len());
                b.u32(0);
                for item in class.elements {
                    element(b, item);
                }
            });
        });
    });
}

fn element(b: &mut Bytes, item: &Element) {
    match *item {
        Base(name, version, checksum) => {
            let code = match name {
                "TObject" => 66,
                "TNamed" => 67,
                _ => 0,
            };
            b.pointer("TStreamerBase", |b| {
                b.sized(3, |b| {
                    common(b, name, "", code, 0, checksum, "BASE");
                    b.u32(version);
                });
            });
        }
        Number(name, class, code, size) => plain(b, "TStreamerBasicType", name, "", code, size, class),
        Text(name) => plain(b, "TStreamerString", name, "", 65, 24, "TString"),
        Buffer(name, class, count, owner, version) => {
            b.pointer("TStreamerBasicPointer", |b| {
                b.sized(2, |b| {
                    common(b, name, &format!("[{count}]"), 48, 8, 0, class);
                    b.u32(version);
                    b.text(count);
                    b.text(owner);
                });
            });
        }
        Object(name, class, size) => plain(b, "TStreamerObject", name, "", 61, size, class),
        Any(name, class, size) => plain(b, "TStreamerObjectAny", name, "", 62, size, class),
        Owned(name, class) => plain(b, "TStreamerObjectPointer", name, "->", 63, 8, class),
        Pointer(name, class) => plain(b, "TStreamerObjectPointer", name, "", 64, 8, class),
    }
}

fn plain(b: &mut Bytes, kind: &'static str, name: &str, title: &str, code: u32, size: u32, class: &str) {
    b.pointer(kind, |b| b.sized(2, |b| common(b, name, title, code, size, 0, class)));
}

fn common(b: &mut Bytes, name: &str, title: &str, code: u32, size: u32, checksum: u32, class: &str) {
    b.sized(4, |b| {
        b.named(name, title);
        b.u32(code);
        b.u32(size);
        // No array: length, dimensions, and five sizes, of which the second is the checksum of a base.
        for value in [0, 0, 0, checksum, 0, 0, 0] {
            b.u32(value);
        }
        b.text(class);
    });
}

/// The layout of ROOT 6.24. Checksums and codes are those that ROOT writes for these classes.
const CLASSES: &[Class] = &[
    Class {
        name: "TH1D",
        version: 3,
        checksum: 0xf9b1569f,
        elements: &[Base("TH1", 8, 0x1c3740c4), Base("TArrayD", 1, 0x7139ef34)],
    },
    Class {
        name: "TH1F",
        version: 3,
        checksum: 0xe2939644,
        elements: &[Base("TH1", 8, 0x1c3740c4), Base("TArrayF", 1, 0x5a0bf6f1)],
    },
    Class {
        name: "TH1",
        version: 8,
        checksum: 0x1c3740c4,
        elements: &[
            Base("TNamed", 1, 0xdfb74a3c),
            Base("TAttLine", 2, 0x94074549),
            Base("TAttFill", 2, 0xffd92a92),
            Base("TAttMarker", 2, 0x291d8bec),
            Number("fNcells", "int", 3, 4),
            Object("fXaxis", "TAxis", 216),
            Object("fYaxis", "TAxis", 216),
            Object("fZaxis", "TAxis", 216),
            Number("fBarOffset", "short", 2, 2),
            Number("fBarWidth", "short", 2, 2),
            Number("fEntries", "double", 8, 8),
            Number("fTsumw", "double", 8, 8),
            Number("fTsumw2", "double", 8, 8),
            Number("fTsumwx", "double", 8, 8),
            Number("fTsumwx2", "double", 8, 8),
            Number("fMaximum", "double", 8, 8),
            Number("fMinimum", "double", 8, 8),
            Number("fNormFactor", "double", 8, 8),
            Any("fContour", "TArrayD", 24),
            Any("fSumw2", "TArrayD", 24),
            Text("fOption"),
            Owned("fFunctions", "TList*"),
            Number("fBufferSize", "int", 6, 4),
            Buffer("fBuffer", "double*", "fBufferSize", "TH1", 8),
            Number("fBinStatErrOpt", "TH1::EBinErrorOpt", 3, 4),
            Number("fStatOverflows", "TH1::EStatOverflows", 3, 4),
        ],
    },
    Class {
        name: "TNamed",
        version: 1,
        checksum: 0xdfb74a3c,
        elements: &[Base("TObject", 1, 0x901bc02d), Text("fName"), Text("fTitle")],
    },
    Class {
        name: "TObject",
        version: 1,
        checksum: 0x901bc02d,
        elements: &[Number("fUniqueID", "unsigned int", 13, 4), Number("fBits", "unsigned int", 15, 4)],
    },
    Class {
        name: "TAttLine",
        version: 2,
        checksum: 0x94074549,
        elements: &[
            Number("fLineColor", "short", 2, 2),
            Number("fLineStyle", "short", 2, 2),
            Number("fLineWidth", "short", 2, 2),
        ],
    },
    Class {
        name: "TAttFill",
        version: 2,
        checksum: 0xffd92a92,
        elements: &[Number("fFillColor", "short", 2, 2), Number("fFillStyle", "short", 2, 2)],
    },
    Class {
        name: "TAttMarker",
        version: 2,
        checksum: 0x291d8bec,
        elements: &[
            Number("fMarkerColor", "short", 2, 2),
            Number("fMarkerStyle", "short", 2, 2),
            Number("fMarkerSize", "float", 5, 4),
        ],
    },
    Class {
        name: "TAxis",
        version: 10,
        checksum: 0x5a496e70,
        elements: &[
            Base("TNamed", 1, 0xdfb74a3c),
            Base("TAttAxis", 4, 0x5c6fff3e),
            Number("fNbins", "int", 3, 4),
            Number("fXmin", "double", 8, 8),
            Number("fXmax", "double", 8, 8),
            Any("fXbins", "TArrayD", 24),
            Number("fFirst", "int", 3, 4),
            Number("fLast", "int", 3, 4),
            Number("fBits2", "unsigned short", 12, 2),
            Number("fTimeDisplay", "bool", 18, 1),
            Text("fTimeFormat"),
            Pointer("fLabels", "THashList*"),
            Pointer("fModLabs", "TList*"),
        ],
    },
    Class {
        name: "TAttAxis",
        version: 4,
        checksum: 0x5c6fff3e,
        elements: &[
            Number("fNdivisions", "int", 3, 4),
            Number("fAxisColor", "short", 2, 2),
            Number("fLabelColor", "short", 2, 2),
            Number("fLabelFont", "short", 2, 2),
            Number("fLabelOffset", "float", 5, 4),
            Number("fLabelSize", "float", 5, 4),
            Number("fTickLength", "float", 5, 4),
            Number("fTitleOffset", "float", 5, 4),
            Number("fTitleSize", "float", 5, 4),
            Number("fTitleColor", "short", 2, 2),
            Number("fTitleFont", "short", 2, 2),
        ],
    },
];
