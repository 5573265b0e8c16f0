"""Reads with TensorBoard itself what TensorBoardWriter.WritesARunThatWasResumed left in a folder.

The first session wrote train/loss = 100 + step for steps 0..9; the second resumed at step 5 and wrote 1 / (1 + step) for
steps 5..11, a picture of one pixel and a text. TensorBoard must show one curve, without the steps that were done again.
"""
import io
import pathlib
import sys

from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util


def check(condition, message):
    if not condition:
        raise SystemExit(f"check_tensorboard: {message}")


def main(folder):
    check(len(list(pathlib.Path(folder).glob("events.out.tfevents.*"))) == 2, f"expected two event files in {folder}")
    events = EventAccumulator(str(folder)).Reload()

    got = [(point.step, point.value) for point in events.Scalars("train/loss")]
    expected = [(step, 100.0 + step) for step in range(5)] + [(step, 1 / (1 + step)) for step in range(5, 12)]
    check([step for step, _ in got] == [step for step, _ in expected], f"steps of train/loss: {got}")
    check(all(abs(a - b) < 1e-6 for (_, a), (_, b) in zip(got, expected)), f"values of train/loss: {got}")

    (picture,) = events.Images("val/worst")
    check((picture.step, picture.height, picture.width) == (11, 1, 1), f"picture of step {picture.step}, {picture.height} x {picture.width}")
    check(Image.open(io.BytesIO(picture.encoded_image_string)).size == (1, 1), "the picture does not decode")

    (text,) = events.Tensors("config")
    check(tensor_util.make_ndarray(text.tensor_proto).tolist() == [b"`lr: 0.01`"], f"text: {text}")
    check("config" in events.PluginTagToContent("text"), "the text is not marked for the text page")
    print(f"TensorBoard reads {len(got)} scalars, 1 picture and 1 text")


if __name__ == "__main__":
    main(sys.argv[1])
