"""Files of SageMaker: system metrics, framework events, settings and rule results."""
