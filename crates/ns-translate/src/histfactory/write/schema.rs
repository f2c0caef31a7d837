//! The grammar of the files, which ROOT looks for beside them.

/// `HistFactorySchema.dtd`, with all elements and attributes that ROOT knows.
pub(super) const DTD: &str = r"<!ELEMENT Combination (Function*, Input+, Measurement*)>
<!ATTLIST Combination OutputFilePrefix CDATA #REQUIRED Mode CDATA #IMPLIED>
<!ELEMENT Function EMPTY>
<!ATTLIST Function Name CDATA #REQUIRED Expression CDATA #REQUIRED Dependents CDATA #REQUIRED>
<!ELEMENT Input (#PCDATA)>
<!ELEMENT Measurement (POI?, ParamSetting*, ConstraintTerm*)>
<!ATTLIST Measurement Name CDATA #REQUIRED Lumi CDATA #REQUIRED LumiRelErr CDATA #REQUIRED BinLow CDATA #IMPLIED
  BinHigh CDATA #IMPLIED Mode CDATA #IMPLIED ExportOnly CDATA #IMPLIED>
<!ELEMENT POI (#PCDATA)>
<!ELEMENT ParamSetting (#PCDATA)>
<!ATTLIST ParamSetting Val CDATA #IMPLIED Const CDATA #IMPLIED>
<!ELEMENT ConstraintTerm (#PCDATA)>
<!ATTLIST ConstraintTerm Type CDATA #REQUIRED RelativeUncertainty CDATA #IMPLIED>
<!ELEMENT Channel (Data*, StatErrorConfig*, Sample+)>
<!ATTLIST Channel Name CDATA #REQUIRED InputFile CDATA #IMPLIED HistoPath CDATA #IMPLIED HistoName CDATA #IMPLIED>
<!ELEMENT Data EMPTY>
<!ATTLIST Data Name CDATA #IMPLIED InputFile CDATA #IMPLIED HistoPath CDATA #IMPLIED HistoName CDATA #IMPLIED>
<!ELEMENT StatErrorConfig EMPTY>
<!ATTLIST StatErrorConfig RelErrorThreshold CDATA #IMPLIED ConstraintType CDATA #IMPLIED>
<!ELEMENT Sample (StatError | HistoSys | OverallSys | ShapeSys | NormFactor | ShapeFactor)*>
<!ATTLIST Sample Name CDATA #REQUIRED InputFile CDATA #IMPLIED HistoName CDATA #IMPLIED HistoPath CDATA #IMPLIED
  NormalizeByTheory CDATA #IMPLIED>
<!ELEMENT StatError EMPTY>
<!ATTLIST StatError Activate CDATA #REQUIRED HistoName CDATA #IMPLIED InputFile CDATA #IMPLIED HistoPath CDATA #IMPLIED>
<!ELEMENT HistoSys EMPTY>
<!ATTLIST HistoSys Name CDATA #REQUIRED HistoFileHigh CDATA #IMPLIED HistoPathHigh CDATA #IMPLIED HistoNameHigh CDATA #IMPLIED
  HistoFileLow CDATA #IMPLIED HistoPathLow CDATA #IMPLIED HistoNameLow CDATA #IMPLIED>
<!ELEMENT OverallSys EMPTY>
<!ATTLIST OverallSys Name CDATA #REQUIRED High CDATA #REQUIRED Low CDATA #REQUIRED>
<!ELEMENT ShapeSys EMPTY>
<!ATTLIST ShapeSys Name CDATA #REQUIRED HistoName CDATA #REQUIRED HistoPath CDATA #IMPLIED InputFile CDATA #IMPLIED
  ConstraintType CDATA #IMPLIED>
<!ELEMENT NormFactor EMPTY>
<!ATTLIST NormFactor Name CDATA #REQUIRED Val CDATA #REQUIRED High CDATA #REQUIRED Low CDATA #REQUIRED Const CDATA #IMPLIED>
<!ELEMENT ShapeFactor EMPTY>
<!ATTLIST ShapeFactor Name CDATA #REQUIRED Const CDATA #IMPLIED HistoName CDATA #IMPLIED HistoPath CDATA #IMPLIED
  InputFile CDATA #IMPLIED>
";
