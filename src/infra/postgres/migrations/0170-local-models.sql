-- Models on computers, as their daemons last told of them, what is being installed, and the platform's names that they serve.
create table local_models (
  id ulid primary key,
  computer_id ulid not null references computers on delete cascade,
  name text not null,
  engine text not null check (engine in ('llama', 'ollama')),
  size_bytes bigint not null default 0,
  digest text,
  context_length int,
  quantization text,
  embeds boolean not null default false,
  status text not null check (status in ('installing', 'ready', 'broken')),
  loaded boolean not null default false,
  -- The platform's id of a model that this one answers for.
  mapping text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (computer_id, name)
);

-- What an operation has to do with a computer's engines, beside what all operations have.
create table local_inference_operations (
  operation_id ulid primary key references operations on delete cascade,
  computer_id ulid not null references computers on delete cascade,
  -- Null: it installs an engine.
  model_id ulid,
  phase text check (phase in ('resolving', 'downloading', 'verifying', 'loading', 'removing')),
  bytes_done bigint not null default 0,
  bytes_total bigint
);
create index local_inference_operations_of on local_inference_operations (computer_id, operation_id desc);
