//! An open Parquet file: its metadata, the types of its columns, and the access to its bytes.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result as IoResult};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};

use super::error::ParquetReadError;

/// The type in which a column of the file stores its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Kind {
    pub(super) fn of_bool(self, x: bool) -> f64 {
        f64::from(u8::from(x))
    }

    pub(super) fn of_i32(self, x: i32) -> f64 {
        if self == Self::U32 { f64::from(x.cast_unsigned()) } else { f64::from(x) }
    }

    pub(super) fn of_i64(self, x: i64) -> f64 {
        if self == Self::U64 { x.cast_unsigned() as f64 } else { x as f64 }
    }
}

/// A column with one number per row.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    /// Index of the column in the file.
    pub(super) index: usize,
    pub(super) kind: Kind,
    /// Whether rows of the column can be null.
    pub(super) nullable: bool,
}

/// An open file with its metadata.
pub(super) struct Open {
    pub(super) path: PathBuf,
    pub(super) contents: ParquetMetaData,
    pub(super) source: Arc<Source>,
}

impl Open {
    /// Opens a file and reads its metadata. If `pages` is true, also reads the statistics of the pages, which are
    /// parts of a column in a row group.
    pub(super) fn new(path: &Path, pages: bool) -> Result<Self, ParquetReadError> {
        let io = |source| ParquetReadError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let about = file.metadata().map_err(io)?;
        if about.is_dir() {
            return Err(io(ErrorKind::IsADirectory.into()));
        }
        let source = Arc::new(Source { file, length: about.len() });
        let policy = if pages { PageIndexPolicy::Optional } else { PageIndexPolicy::Skip };
        let part = Part { source: Arc::clone(&source), cached: None };
        let contents = guarded(path, || {
            ParquetMetaDataReader::new().with_page_index_policy(policy).parse_and_finish(&part)
        })?;
        let open = Self { path: path.to_owned(), contents, source };
        open.check()?;
        Ok(open)
    }

    /// Checks the metadata of an untrusted file. All bytes that the metadata refer to must exist in the file, and
    /// there must be enough bytes for the number of rows.
    fn check(&self) -> Result<(), ParquetReadError> {
        let broken =
            |reason: &str| ParquetReadError::Broken { path: self.path.clone(), reason: reason.to_owned() };
        let mut rows = 0_u64;
        for group in self.contents.row_groups() {
            let here =
                u64::try_from(group.num_rows()).map_err(|_| broken("a row group has a negative length"))?;
            rows = rows.checked_add(here).ok_or_else(|| broken("it has too many rows"))?;
            for chunk in group.columns() {
                let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
                let inside = u64::try_from(start)
                    .ok()
                    .zip(u64::try_from(chunk.compressed_size()).ok())
                    .and_then(|(start, size)| start.checked_add(size))
                    .is_some_and(|end| end <= self.source.length);
                if !inside {
                    return Err(broken("its table of contents points beyond its end"));
                }
            }
        }
        // Even a constant column needs some bytes per page. This check limits the memory that is allocated
        // before rows are read.
        if rows > 1 << 24 && rows / self.source.length.max(1) > 1 << 16 {
            return Err(broken("its table of contents has more rows than its bytes can hold"));
        }
        Ok(())
    }

    /// Returns the names of all top-level columns.
    pub(super) fn names(&self) -> Vec<String> {
        let root = self.contents.file_metadata().schema_descr().root_schema();
        root.get_fields().iter().map(|field| field.name().to_owned()).collect()
    }

    /// Finds a column with one number per row.
    ///
    /// # Errors
    /// If no column has this name, or its values are not single numbers.
    pub(super) fn column(&self, name: &str) -> Result<Column, ParquetReadError> {
        let path = || self.path.clone();
        let schema = self.contents.file_metadata().schema_descr();
        let Some(field) = schema.root_schema().get_fields().iter().find(|field| field.name() == name) else {
            let (column, available) = (name.to_owned(), self.names());
            return Err(ParquetReadError::NoSuchColumn { path: path(), column, available });
        };
        let repeated = field.get_basic_info().has_repetition()
            && field.get_basic_info().repetition() == Repetition::REPEATED;
        if field.is_group() || repeated {
            let list = field.get_basic_info().logical_type_ref() == Some(&LogicalType::List) || repeated;
            let map = field.get_basic_info().logical_type_ref() == Some(&LogicalType::Map);
            let what = if list {
                "a list"
            } else if map {
                "a map"
            } else {
                "a structure"
            };
            return Err(ParquetReadError::Nested { path: path(), column: name.to_owned(), what });
        }
        let leaf = |i: &usize| schema.column(*i).path().parts() == [name];
        let Some(index) = (0..schema.num_columns()).find(leaf) else {
            let (column, available) = (name.to_owned(), self.names());
            return Err(ParquetReadError::NoSuchColumn { path: path(), column, available });
        };
        let column = schema.column(index);
        let kind = kind(column.physical_type(), column.logical_type_ref(), column.converted_type());
        let kind = kind.map_err(|found| ParquetReadError::NotNumbers {
            path: path(),
            column: name.to_owned(),
            found,
        })?;
        for group in self.contents.row_groups() {
            let compression = match group.columns().get(index).map(|chunk| chunk.compression()) {
                Some(Compression::BROTLI(_)) => "brotli",
                Some(Compression::LZO) => "LZO",
                _ => continue,
            };
            return Err(ParquetReadError::Compression { path: path(), column: name.to_owned(), compression });
        }
        Ok(Column { name: name.to_owned(), index, kind, nullable: column.max_def_level() > 0 })
    }
}

/// Returns the type in which the numbers of a column are stored. If the column has no numbers, returns an
/// error with the name of its type.
fn kind(physical: Physical, logical: Option<&LogicalType>, converted: ConvertedType) -> Result<Kind, String> {
    let unsigned = match logical {
        None | Some(LogicalType::Unknown) => matches!(
            converted,
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
        ),
        Some(LogicalType::Integer(integer)) => !integer.is_signed,
        Some(LogicalType::Date) => return Err("dates".to_owned()),
        Some(LogicalType::Time(_)) => return Err("times".to_owned()),
        Some(LogicalType::Timestamp(_)) => return Err("times".to_owned()),
        Some(LogicalType::Decimal(_)) => return Err("decimal numbers".to_owned()),
        Some(LogicalType::Float16) => return Err("16-bit floating-point numbers".to_owned()),
        Some(_) => return Err("texts or other objects".to_owned()),
    };
    if matches!(
        converted,
        ConvertedType::DECIMAL
            | ConvertedType::DATE
            | ConvertedType::TIME_MILLIS
            | ConvertedType::TIME_MICROS
            | ConvertedType::TIMESTAMP_MILLIS
            | ConvertedType::TIMESTAMP_MICROS
    ) {
        return Err("dates, times or decimal numbers".to_owned());
    }
    match physical {
        Physical::BOOLEAN => Ok(Kind::Boolean),
        Physical::INT32 if unsigned => Ok(Kind::U32),
        Physical::INT32 => Ok(Kind::I32),
        Physical::INT64 if unsigned => Ok(Kind::U64),
        Physical::INT64 => Ok(Kind::I64),
        Physical::FLOAT => Ok(Kind::F32),
        Physical::DOUBLE => Ok(Kind::F64),
        Physical::INT96 => Err("times".to_owned()),
        Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => Err("texts or bytes".to_owned()),
    }
}

/// Calls the Parquet library on untrusted bytes. An error or a panic of the library becomes
/// [`ParquetReadError::Broken`].
pub(super) fn guarded<T>(
    path: &Path,
    read: impl FnOnce() -> ParquetResult<T>,
) -> Result<T, ParquetReadError> {
    let broken = |reason: String| ParquetReadError::Broken { path: path.to_owned(), reason };
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)) {
        Ok(result) => result.map_err(|error| match error {
            ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) => broken(text),
            other => broken(other.to_string()),
        }),
        Err(_) => Err(broken("its contents contradict each other".to_owned())),
    }
}

/// The bytes of a file. Several threads can read from different positions at the same time.
pub(super) struct Source {
    file: File,
    length: u64,
}

impl Source {
    /// Reads `length` bytes that begin at `start`.
    fn bytes(&self, start: u64, length: usize) -> IoResult<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(Error::new(ErrorKind::UnexpectedEof, "the file ends too early"));
        }
        let mut bytes = vec![0; length];
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.read_at(rest, start + done as u64) {
                Ok(0) => return Err(Error::new(ErrorKind::UnexpectedEof, "the file ends too early")),
                Ok(n) => done += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Bytes::from(bytes))
    }

    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], at: u64) -> IoResult<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buffer, at)
    }

    #[cfg(windows)]
    fn read_at(&self, buffer: &mut [u8], at: u64) -> IoResult<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, buffer, at)
    }
}

/// Access to a file for the Parquet library. A part of the file may be held in memory.
pub(super) struct Part {
    pub(super) source: Arc<Source>,
    /// The part of the file that is held in memory: its position in the file, and its bytes.
    pub(super) cached: Option<(u64, Bytes)>,
}

impl Part {
    /// Reads a part of the file into memory.
    pub(super) fn load(source: &Arc<Source>, start: u64, length: u64) -> ParquetResult<Self> {
        let length = usize::try_from(length)?;
        let bytes = source.bytes(start, length)?;
        Ok(Self { source: Arc::clone(source), cached: Some((start, bytes)) })
    }

    /// Returns bytes from the part that is held in memory; `None` if they are not in this part.
    fn known(&self, start: u64, length: usize) -> Option<Bytes> {
        let (first, bytes) = self.cached.as_ref()?;
        let from = usize::try_from(start.checked_sub(*first)?).ok()?;
        let to = from.checked_add(length)?;
        (to <= bytes.len()).then(|| bytes.slice(from..to))
    }
}

impl Length for Part {
    fn len(&self) -> u64 {
        self.source.length
    }
}

impl ChunkReader for Part {
    type T = Sequence;

    fn get_read(&self, start: u64) -> ParquetResult<Sequence> {
        let rest = self.cached.as_ref().and_then(|(first, bytes)| {
            let from = usize::try_from(start.checked_sub(*first)?).ok()?;
            (from <= bytes.len()).then(|| bytes.slice(from..))
        });
        Ok(Sequence { source: Arc::clone(&self.source), at: start, rest: rest.unwrap_or_default() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        match self.known(start, length) {
            Some(bytes) => Ok(bytes),
            None => Ok(self.source.bytes(start, length)?),
        }
    }
}

/// Reads the file sequentially from a position.
pub(super) struct Sequence {
    source: Arc<Source>,
    at: u64,
    /// Bytes that were read from the file but not yet returned to the caller. The first of them has the position `at`
    /// in the file.
    rest: Bytes,
}

impl Read for Sequence {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        const PIECE: u64 = 8192;
        if self.rest.is_empty() {
            let piece = PIECE.min(self.source.length.saturating_sub(self.at));
            self.rest = self.source.bytes(self.at, usize::try_from(piece).unwrap_or(0))?;
        }
        let n = buffer.len().min(self.rest.len());
        if let Some(buffer) = buffer.get_mut(..n) {
            self.rest.copy_to_slice(buffer);
        }
        self.at += n as u64;
        Ok(n)
    }
}
