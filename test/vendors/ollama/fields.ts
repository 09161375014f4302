// The fields and types that Ollama's routes accept.
import type { Rule } from '../rules.ts'

const message: Rule = { kind: 'object', fields: { role: { kind: 'string' } } }
const options: Record<string, Rule> = {
  model: { kind: 'string' },
  messages: { kind: 'array', nullable: true, items: message },
  tools: { kind: 'array', nullable: true, items: { kind: 'object' } },
  stream: { kind: 'boolean', nullable: true },
}
export const native: Rule = {
  kind: 'object',
  fields: {
    ...options,
    messages: {
      kind: 'array',
      nullable: true,
      items: { kind: 'object', fields: { content: { kind: 'string', nullable: true } } },
    },
    options: { kind: 'object', nullable: true },
    think: { kind: ['boolean', 'string'], nullable: true },
  },
}
export const compat: Rule = {
  kind: 'object',
  fields: {
    ...options,
    max_tokens: { kind: 'integer', nullable: true },
    seed: { kind: 'integer', nullable: true },
    temperature: { kind: 'number', nullable: true },
    top_p: { kind: 'number', nullable: true },
    frequency_penalty: { kind: 'number', nullable: true },
    presence_penalty: { kind: 'number', nullable: true },
    stream_options: { kind: 'object', nullable: true, fields: { include_usage: { kind: 'boolean', nullable: true } } },
    response_format: { kind: 'object', nullable: true },
    reasoning_effort: { kind: 'string', nullable: true },
  },
}

export const manageFields: Rule = {
  kind: 'object',
  fields: {
    model: { kind: 'string' },
    name: { kind: 'string' },
    stream: { kind: 'boolean', nullable: true },
    insecure: { kind: 'boolean' },
  },
}
export const generateFields: Rule = {
  kind: 'object',
  fields: {
    model: { kind: 'string' },
    prompt: { kind: 'string' },
    stream: { kind: 'boolean', nullable: true },
    options: { kind: 'object', nullable: true },
    think: { kind: ['boolean', 'string'], nullable: true },
  },
}
export const embedFields: Rule = {
  kind: 'object',
  fields: {
    model: { kind: 'string' },
    truncate: { kind: 'boolean', nullable: true },
    dimensions: { kind: 'integer' },
    encoding_format: { kind: 'string' },
  },
}
