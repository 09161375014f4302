-- sherpa-onnx beside llama.cpp and Ollama: an engine whose models write down speech.
alter table local_models drop constraint local_models_engine_check;
alter table local_models add constraint local_models_engine_check check (engine in ('llama', 'sherpa', 'ollama'));
