import { createHash } from 'node:crypto'

const EMBEDDING = 64
const HEADS = 4
const LAYERS = 2
const FEED_FORWARD = 128
const CONTEXT = 4_096
const ALIGNMENT = 32

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
const u64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
const f32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return bytes
}
const string = (text: string): Buffer => Buffer.concat([u64(Buffer.byteLength(text)), Buffer.from(text)])
const padded = (length: number): number => Math.ceil(length / ALIGNMENT) * ALIGNMENT

const pair = {
  u32: (key: string, value: number) => [string(key), u32(4), u32(value)],
  f32: (key: string, value: number) => [string(key), u32(6), f32(value)],
  bool: (key: string, value: boolean) => [string(key), u32(7), Buffer.from([Number(value)])],
  string: (key: string, value: string) => [string(key), u32(8), string(value)],
  list: (key: string, kind: number, items: Buffer[]) => [string(key), u32(9), u32(kind), u64(items.length), ...items],
}

/** A vocabulary of 256 bytes, a few pieces and letters, as SentencePiece has it: `[text, type]`. */
const tokens: [string, number][] = [
  ['<unk>', 2],
  ['<s>', 3],
  ['</s>', 3],
  ...Array.from({ length: 256 }, (_, byte): [string, number] => [
    `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
    6,
  ]),
  ...['▁', '▁the', '▁a', ...'abcdefghijklmnopqrstuvwxyz.'].map((text): [string, number] => [text, 1]),
]

/** A model of half a megabyte that any engine for GGUF loads: it talks nonsense, the same nonsense for the same seed. */
export function tinyGguf(seed = 1): { bytes: Buffer; sha256: string } {
  let state = seed
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state / 2 ** 32 - 0.5) * 0.2
  }
  const head = [
    pair.string('general.architecture', 'llama'),
    pair.string('general.name', 'tiny'),
    pair.u32('general.file_type', 0),
    pair.u32('llama.context_length', CONTEXT),
    pair.u32('llama.embedding_length', EMBEDDING),
    pair.u32('llama.block_count', LAYERS),
    pair.u32('llama.feed_forward_length', FEED_FORWARD),
    pair.u32('llama.attention.head_count', HEADS),
    pair.u32('llama.attention.head_count_kv', HEADS),
    pair.f32('llama.attention.layer_norm_rms_epsilon', 1e-5),
    pair.u32('llama.rope.dimension_count', EMBEDDING / HEADS),
    pair.u32('llama.vocab_size', tokens.length),
    pair.string('tokenizer.ggml.model', 'llama'),
    pair.list(
      'tokenizer.ggml.tokens',
      8,
      tokens.map(([text]) => string(text)),
    ),
    pair.list(
      'tokenizer.ggml.scores',
      6,
      tokens.map((_, index) => f32(-index)),
    ),
    pair.list(
      'tokenizer.ggml.token_type',
      5,
      tokens.map(([, type]) => u32(type)),
    ),
    pair.u32('tokenizer.ggml.bos_token_id', 1),
    pair.u32('tokenizer.ggml.eos_token_id', 2),
    pair.u32('tokenizer.ggml.unknown_token_id', 0),
    pair.bool('tokenizer.ggml.add_bos_token', true),
    pair.string(
      'tokenizer.chat_template',
      "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:",
    ),
  ]
  const tensors: { name: string; dimensions: number[]; ones?: true }[] = [
    { name: 'token_embd.weight', dimensions: [EMBEDDING, tokens.length] },
    { name: 'output_norm.weight', dimensions: [EMBEDDING], ones: true },
    { name: 'output.weight', dimensions: [EMBEDDING, tokens.length] },
  ]
  for (let layer = 0; layer < LAYERS; layer++) {
    const name = (part: string): string => `blk.${layer}.${part}.weight`
    tensors.push(
      { name: name('attn_norm'), dimensions: [EMBEDDING], ones: true },
      { name: name('ffn_norm'), dimensions: [EMBEDDING], ones: true },
      ...['attn_q', 'attn_k', 'attn_v', 'attn_output'].map((part) => ({
        name: name(part),
        dimensions: [EMBEDDING, EMBEDDING],
      })),
      { name: name('ffn_gate'), dimensions: [EMBEDDING, FEED_FORWARD] },
      { name: name('ffn_up'), dimensions: [EMBEDDING, FEED_FORWARD] },
      { name: name('ffn_down'), dimensions: [FEED_FORWARD, EMBEDDING] },
    )
  }
  let offset = 0
  const infos: Buffer[] = []
  const data: Buffer[] = []
  for (const { name, dimensions, ones } of tensors) {
    const values = dimensions.reduce((a, b) => a * b)
    infos.push(string(name), u32(dimensions.length), ...dimensions.map(u64), u32(0), u64(offset))
    const bytes = Buffer.alloc(padded(values * 4))
    for (let n = 0; n < values; n++) bytes.writeFloatLE(ones ? 1 : random(), n * 4)
    data.push(bytes)
    offset += bytes.length
  }
  const start = Buffer.concat([
    Buffer.from('GGUF'),
    u32(3),
    u64(tensors.length),
    u64(head.length),
    ...head.flat(),
    ...infos,
  ])
  const bytes = Buffer.concat([start, Buffer.alloc(padded(start.length) - start.length), ...data])
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') }
}
