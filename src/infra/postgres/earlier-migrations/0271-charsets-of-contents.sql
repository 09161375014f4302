-- The encoding of a text, as the WHATWG Encoding Standard calls it; null for what is no text, and for what an older reader read.
alter table contents add column charset text;
