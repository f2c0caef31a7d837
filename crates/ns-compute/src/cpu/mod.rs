//! The CPU session.

use ns_core::{
    Control, Data, Device, Evaluation, EvaluationRequest, Execution, FitTask, Model, ParameterTable, Session,
    SessionError, Sink, Wanted,
};

/// A compiled model on the CPU.
pub struct CpuSession {
    table: ParameterTable,
}

impl CpuSession {
    /// Compiles `model` for the CPU.
    ///
    /// # Errors
    /// If the model does not fit the memory limit.
    pub fn open(model: &Model, _execution: &Execution) -> Result<Self, SessionError> {
        let _ = model;
        Ok(Self { table: ParameterTable::default() })
    }
}

impl Session for CpuSession {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn parameters(&self) -> &ParameterTable {
        &self.table
    }

    fn fit_batch(
        &self,
        _tasks: &[FitTask],
        _wanted: Wanted,
        _control: Control<'_>,
        _sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        Err(SessionError::ForeignData { remedy: "the evaluator is being written" })
    }

    fn evaluate(
        &self,
        _data: &Data,
        _points: &[f64],
        _request: EvaluationRequest,
    ) -> Result<Evaluation, SessionError> {
        Err(SessionError::ForeignData { remedy: "the evaluator is being written" })
    }

    fn asimov(&self, _parameters: &[f64]) -> Result<Data, SessionError> {
        Err(SessionError::ForeignData { remedy: "the evaluator is being written" })
    }

    fn saturated_nll(&self, _data: &Data) -> Result<f64, SessionError> {
        Err(SessionError::ForeignData { remedy: "the evaluator is being written" })
    }
}
