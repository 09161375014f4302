/** Options every command accepts, with the kind of value they take. A command's own field of the same name wins. */
export const globals = {
  json: ['switch', "Print the API's JSON response."],
  query: [
    'value',
    'Print one field, such as id or run.status. For a list, prints it for every row. Short: -q.',
    'field',
  ],
  jq: ['value', 'Filter the JSON response with a jq expression.', 'expression'],
  all: ['switch', 'Fetch all pages of a list. With --json, prints one row per line.'],
  wait: ['switch', 'Wait for background work to finish.'],
  output: ['value', 'Write the downloaded or generated file here. Use - for stdout. Short: -o.', 'file'],
  input: ['value', 'Read fields from a JSON file, or - for stdin. Flags take precedence.', 'file'],
  workspace: ['value', 'The workspace to use, or none to ignore the selected one.', 'name or ID'],
  origin: ['value', 'The server to connect to.', 'url'],
  email: ['value', 'The email to sign in with, for commands that need your password.', 'address'],
  'password-stdin': ['switch', 'Read the password from stdin.'],
  'no-input': ['switch', 'Never prompt.'],
  help: ['switch', 'Show help for the command.'],
} as const satisfies Record<string, readonly ['switch', string] | readonly ['value', string, placeholder: string]>

export type Global = keyof typeof globals
export type Globals = { [G in Global]?: (typeof globals)[G][0] extends 'switch' ? true : string }
