-- What the owner of an endpoint knows of what becomes of prompts at its provider; null: not known.
alter table provider_endpoints
  add column data_policy jsonb not null default '{"keeps": null, "trains": null}';
