import type { Tool } from '../../../model/canonical-request.ts'

/**
 * Tools that Anthropic names by type and its clients carry out themselves: what a model is to be told of them so that its
 * calls are those that the client expects (docs.anthropic.com, bash, text editor and memory tools; @langchain/anthropic
 * 1.3.3, tools/types). Other typed tools the vendor carries out, and nobody else can.
 */
const text = { type: 'string' }
const commands = (names: string[], properties: object): object => ({
  type: 'object',
  properties: { command: { type: 'string', enum: names }, ...properties },
  required: ['command'],
})
const edits = {
  path: text,
  file_text: { ...text, description: 'Of create: the text of the new file.' },
  old_str: { ...text, description: 'Of str_replace: what is replaced. It must stand there exactly once.' },
  new_str: { ...text, description: 'Of str_replace: what it is replaced by.' },
  insert_line: { type: 'integer', description: 'Of insert: the line behind which it is inserted; 0 is the beginning.' },
}
const range = {
  type: 'array',
  items: { type: 'integer' },
  description: 'Of view: the first and the last line; -1 is the end.',
}

const known: readonly { type: RegExp; tool: Omit<Tool, 'name'> }[] = [
  {
    type: /^bash_20(24|25)\d{4}$/,
    tool: {
      description: 'Runs a command in a shell that keeps its state.',
      parameters: { type: 'object', properties: { command: text, restart: { type: 'boolean' } } },
    },
  },
  {
    // It can undo, and calls what is inserted by the older name.
    type: /^text_editor_(20241022|20250124)$/,
    tool: {
      description: 'Views, creates and edits files.',
      parameters: commands(['view', 'create', 'str_replace', 'insert', 'undo_edit'], { ...edits, view_range: range }),
    },
  },
  {
    type: /^text_editor_20250(429|728)$/,
    tool: {
      description: 'Views, creates and edits files.',
      parameters: commands(['view', 'create', 'str_replace', 'insert'], {
        ...edits,
        insert_text: { ...text, description: 'Of insert: the text.' },
        view_range: range,
      }),
    },
  },
  {
    type: /^memory_20250818$/,
    tool: {
      description: 'Keeps notes in files under /memories, for later conversations.',
      parameters: commands(['view', 'create', 'str_replace', 'insert', 'delete', 'rename'], {
        ...edits,
        insert_text: { ...text, description: 'Of insert: the text.' },
        view_range: range,
        old_path: text,
        new_path: text,
      }),
    },
  },
]

/** Null: it is not one of those. */
export function clientTool(type: string, name: string): Tool | null {
  const found = known.find((one) => one.type.test(type))
  return found === undefined ? null : { name, ...found.tool }
}
