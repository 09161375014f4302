/** Options of the program itself, with what each takes; a command's own field of the same name wins. */
export const globals = {
  json: ['switch', 'Print the answer exactly as the API gives it.'],
  query: ['value', 'Print one field, such as id or run.status; of a list, of every row. Short: -q.', 'field'],
  jq: ['value', 'Print the result of this jq expression on the JSON.', 'expression'],
  all: ['switch', 'Every page of a list; with --json one row per line.'],
  wait: ['switch', 'Wait until background work has ended.'],
  output: ['value', 'Write bytes, or what was made, to this file; - is stdout. Short: -o.', 'file'],
  input: ['value', 'Take fields from a JSON file; - is stdin. Flags win.', 'file'],
  workspace: ['value', 'The workspace to use; none is no particular one.', 'name or id'],
  origin: ['value', 'The instance to talk to.', 'url'],
  email: ['value', 'Who signs in, where a session is needed.', 'address'],
  'password-stdin': ['switch', 'Read the password from stdin.'],
  'no-input': ['switch', 'Never ask.'],
  help: ['switch', 'Explain the command.'],
} as const satisfies Record<string, readonly ['switch', string] | readonly ['value', string, placeholder: string]>

export type Global = keyof typeof globals
export type Globals = { [G in Global]?: (typeof globals)[G][0] extends 'switch' ? true : string }
