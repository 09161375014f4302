-- Models of a provider connection whose last call was refused for good: a bad key, an empty account, an unknown model.
create table refused_models (
  connection char(26) not null,
  model text not null,
  -- Null: it has answered since.
  kind text,
  changed_at timestamptz not null default clock_timestamp(),
  primary key (connection, model)
);
create index refused_models_changed on refused_models (changed_at);
