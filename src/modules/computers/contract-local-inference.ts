import { z } from 'zod'
import { resource } from '#core/access.ts'
import { base, deleted, endpoint, id, idOut, one, operation, page, time, words } from '#core/contract.ts'
import { Operation, operationStatus } from '#modules/operations/contract.ts'

const engine = z.enum(['llama', 'sherpa', 'ollama']).describe('`sherpa` is sherpa-onnx, for transcription.')
/** Leaves room for Ollama names with host, user and tag. */
const modelName = words(200).pipe(z.string().trim().min(1))
const ggufName = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9._:-]{0,99}$/,
    'must start with a letter or digit, and contain only letters, digits, `.`, `_`, `:` and `-`',
  )

export const LocalInference = z
  .object({
    id: idOut.describe('The ID of the computer.'),
    created_at: time.describe('When the computer was created.'),
    engine: engine.nullable().describe('The engine used by default.'),
    engines: z.array(
      z.object({
        name: engine,
        status: z.enum(['absent', 'installing', 'stopped', 'running', 'failed']),
        version: z.string().nullable(),
        reason: z.string().nullable().describe('Why the engine isn’t running.'),
      }),
    ),
    loaded: z.array(z.string()).describe('The names of the models in memory.'),
    gpu: z.string().nullable(),
    memory_bytes: z.number().int().nullable().describe('The options the engine supports. Null: unknown, or none.'),
  })
  .meta({ id: 'LocalInference' })

export const LocalModel = z
  .object({
    ...base,
    computer_id: idOut,
    name: z.string().describe('The model ID is `local/<name>`.'),
    engine,
    size_bytes: z.number().int(),
    digest: z.string().nullable(),
    context_length: z.number().int().nullable(),
    quantization: z.string().nullable(),
    status: z.enum(['installing', 'ready', 'broken']),
    mapping: z.string().nullable().describe('The platform model that it also serves.'),
    loaded: z.boolean(),
  })
  .meta({ id: 'LocalModel' })

export const LocalInferenceOperation = Operation.extend({
  computer_id: idOut,
  local_model_id: idOut.nullable().describe('Null for an engine installation.'),
  phase: z.enum(['resolving', 'downloading', 'verifying', 'loading', 'removing']).nullable(),
  bytes_done: z.number().int(),
  bytes_total: z.number().int().nullable().describe('Null if unknown.'),
}).meta({ id: 'LocalInferenceOperation' })

const offline = ['computer_offline', 'timeout', 'interrupted', 'engine_not_ready', 'not_supported'] as const

export const localInference = {
  local_inference: endpoint('POST /computers/:id/local-inference', {
    summary: 'Start, stop or check the engine for local models on a computer',
    description:
      '`start` installs llama.cpp if it’s missing, and then returns 202 with an operation. `unload` frees the memory used by models. Ollama can be started if it’s installed; stop it on the computer itself.',
    access: resource('computer', { scope: 'computer:write', capability: 'inference' }),
    body: {
      action: z.enum(['start', 'stop', 'status', 'unload']),
      engine: engine.optional().describe('Default: llama.cpp if it’s installed, otherwise a running Ollama.'),
      model: modelName.optional().describe('For `unload`: only this model.'),
    },
    reply: operation(LocalInference),
    errors: offline,
  }),
  local_models: endpoint('GET /computers/:id/local-inference/models', {
    summary: 'List the local models of a computer',
    description: 'As reported by the computer’s daemon. For a disconnected computer, the last report.',
    access: resource('computer', { scope: 'computer:read', capability: 'inference' }),
    reply: page(LocalModel),
  }),
  install_local_model: endpoint('POST /computers/:id/local-inference/models', {
    summary: 'Install a local model',
    description:
      'Installs a GGUF file from a URL or from the drive, or a model of the Ollama library. The installation resumes after connection or server failures, and its checksum is verified. If the computer’s disk doesn’t have enough space, the operation fails with `storage_full`, 507.',
    access: resource('computer', { scope: 'computer:write', capability: 'inference' }),
    body: {
      source: z
        .union([
          z.strictObject({
            url: z.url({ protocol: /^https?$/ }).max(2_048),
            sha256: z
              .string()
              .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits')
              .optional(),
          }),
          z.strictObject({ file_id: id.describe('A drive file.') }),
          z.strictObject({ ollama: modelName.describe('The name as used in `ollama pull`.') }),
        ])
        .meta({
          description: 'Exactly one of `{url, sha256?}`, `{file_id}`, `{ollama}`.',
          example: { url: 'https://example.com/small.gguf' },
        }),
      name: ggufName.optional().describe('Default: the file’s name. Ollama models keep their own names.'),
    },
    reply: operation(LocalInferenceOperation),
    status: 202,
    errors: [...offline, 'already_exists', 'limit_reached'],
  }),
  remove_local_model: endpoint('DELETE /computers/:id/local-inference/models/:local_model_id', {
    summary: 'Remove a local model from a computer',
    description: 'Deletes its file. Only for the computer’s owner.',
    access: resource('computer', { scope: 'computer:write', capability: 'inference' }),
    consent: 'person',
    reply: deleted,
    errors: [...offline, 'invalid_state'],
  }),
  map_local_model: endpoint('PATCH /computers/:id/local-inference/models/:local_model_id/mapping', {
    summary: 'Map a local model to a platform model, or remove the mapping',
    description:
      'Requests for the platform model from users with `inference` access to this computer can then be served by the local model, free of charge: in the computer’s workspace next to other providers, elsewhere only if no other provider has the model. Only admins of the computer’s workspace can set this. Transferring the computer removes the mapping.',
    access: resource('computer', { scope: 'computer:write', role: 'admin', capability: 'inference' }),
    body: {
      model: words(200)
        .pipe(z.string().regex(/^[^\s/]+\/\S+$/, 'must be like `provider/model`'))
        .refine((slug) => !/^(local|sim)\//.test(slug), 'must not start with `local/` or `sim/`')
        .nullable()
        .meta({
          description: 'The platform model, `provider/model`. Null removes the mapping.',
          example: 'openai/gpt-5-mini',
        }),
    },
    reply: one(LocalModel),
    errors: ['invalid_state'],
  }),
  local_operations: endpoint('GET /computers/:id/local-inference/operations', {
    summary: 'List the model and engine installations on a computer, newest first',
    access: resource('computer', { scope: 'computer:read', capability: 'inference' }),
    query: { status: operationStatus.optional().describe('Filters the list by status.') },
    reply: page(LocalInferenceOperation),
  }),
  cancel_local_operation: endpoint('POST /computers/:id/local-inference/operations/:operation_id/cancel', {
    summary: 'Cancel an installation',
    description:
      'It stops within 2 seconds. Downloaded data is kept for a week and reused if you install the model again.',
    access: resource('computer', { scope: 'computer:write', capability: 'inference' }),
    reply: one(LocalInferenceOperation),
    errors: ['invalid_state'],
  }),
}
