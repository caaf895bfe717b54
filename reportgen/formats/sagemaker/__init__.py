"""What SageMaker writes: system metrics, framework events, settings and rule results."""
