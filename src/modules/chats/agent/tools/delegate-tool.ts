import type { AgentRow } from '#modules/agents/service.ts'
import type { Tool } from '#gateway/model/canonical-request.ts'

export const DELEGATE = 'delegate'

const MAX_TASK_LENGTH = 100_000

export const delegateTool = (agents: readonly AgentRow[]): Tool => ({
  name: DELEGATE,
  description: [
    "Delegate a task to another agent. It works in its own chat and returns its result. It can't see this conversation, so include everything it needs.",
    ...agents.map(({ id, name, description }) => `${id}: ${name}${description === null ? '' : `, ${description}`}`),
  ].join('\n'),
  parameters: {
    type: 'object',
    properties: {
      agent_id: { type: 'string', enum: agents.map(({ id }) => id) },
      task: { type: 'string', description: 'The task, and what to return.' },
    },
    required: ['agent_id', 'task'],
    additionalProperties: false,
  },
})

export const taskOf = ({ task }: Record<string, unknown>): { task: string } | { unusable: string } =>
  typeof task !== 'string' || task.trim() === '' || task.length > MAX_TASK_LENGTH
    ? { unusable: `\`task\` must describe the task in up to ${MAX_TASK_LENGTH} characters.` }
    : { task }
