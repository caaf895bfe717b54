"""Results that SageMaker computed: their status, parameters and known mistakes, in our words."""
