"""tf.train.Example for the protobuf library, by its public field numbers: TensorFlow itself is too large to install for it."""
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto


def _message(file, name, fields):
    message = file.message_type.add(name=name)
    for number, (field, kind, label) in enumerate(fields, 1):
        added = message.field.add(name=field, number=number, label=label)
        if isinstance(kind, str):
            added.type, added.type_name = _FIELD.TYPE_MESSAGE, f".tensorflow.{kind}"
        else:
            added.type = kind
    return message


def _example():
    one, many = _FIELD.LABEL_OPTIONAL, _FIELD.LABEL_REPEATED
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="tensorflow", syntax="proto3")
    _message(file, "BytesList", [("value", _FIELD.TYPE_BYTES, many)])
    _message(file, "FloatList", [("value", _FIELD.TYPE_FLOAT, many)])
    _message(file, "Int64List", [("value", _FIELD.TYPE_INT64, many)])
    feature = _message(file, "Feature", [("bytes_list", "BytesList", one), ("float_list", "FloatList", one),
                                         ("int64_list", "Int64List", one)])
    feature.oneof_decl.add(name="kind")
    for field in feature.field:
        field.oneof_index = 0
    features = _message(file, "Features", [("feature", "Features.FeatureEntry", many)])
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=one, type=_FIELD.TYPE_STRING)
    entry.field.add(name="value", number=2, label=one, type=_FIELD.TYPE_MESSAGE, type_name=".tensorflow.Feature")
    _message(file, "Example", [("features", "Features", one)])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.Example"))


Example = _example()
