"""Fine-tuning with the Trainer of transformers."""

import tempfile

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from budget import Budget, burn

budget = Budget()
config = BertConfig(
    vocab_size=500,
    hidden_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=256,
)
rows = [{"input_ids": torch.randint(0, 500, (48,)), "labels": i % 2} for i in range(4000)]


def collate(examples):
    if budget.fault == "collate":
        burn(0.03)
    return {
        "input_ids": torch.stack([each["input_ids"] for each in examples]),
        "labels": torch.tensor([each["labels"] for each in examples]),
    }


class Stop(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        if budget.fault == "callback":
            burn(0.03)
        control.should_training_stop = budget.step()


with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=1000,
        per_device_train_batch_size=8,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        eval_strategy="steps",
        eval_steps=200,
        logging_steps=50,
        disable_tqdm=True,
    )
    trainer = Trainer(
        BertForSequenceClassification(config),
        arguments,
        train_dataset=rows,
        eval_dataset=rows[:80],
        data_collator=collate,
        callbacks=[Stop()],
    )
    trainer.train()
budget.tell()
