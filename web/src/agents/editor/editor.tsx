import { useEffect } from 'react'
import type { Agent } from '../../shared/agents/queries.ts'
import { ModelPicker } from '../../shared/models/model-picker.tsx'
import type { Place } from '../../shared/rights.ts'
import { Button } from '../../ui/button.tsx'
import { Unsaved } from '../../ui/dialogs/unsaved.tsx'
import { TextField } from '../../ui/field.tsx'
import { Section } from '../../ui/page.tsx'
import { Computers } from './computers.tsx'
import { InstructionsField } from './instructions-field.tsx'
import { LimitFields } from './limit-fields.tsx'
import { SaveBar } from './save-bar.tsx'
import { ServersField } from './servers-field.tsx'
import { SubagentsField } from './subagents-field.tsx'
import { ToolsField } from './tools-field.tsx'
import { useAgentDraft } from './use-agent-draft.ts'

export function Editor({
  agent,
  place,
  onUnsaved,
}: {
  agent: Agent
  place: Place
  onUnsaved: (unsaved: boolean) => void
}) {
  const editing = useAgentDraft(agent)
  const { draft, isUnsaved, set, save, sending } = editing
  const { at } = sending
  const isMember = place.workspace !== null
  // For shared agents, the server decides about the permission when saving.
  const isLocked = agent.status !== 'active' || (isMember && !place.may('agent:write'))
  useEffect(() => onUnsaved(isUnsaved), [isUnsaved, onUnsaved])
  return (
    <form
      ref={sending.form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
      onKeyDown={(event) => {
        if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        save()
      }}
    >
      <Unsaved on={isUnsaved} />
      <fieldset disabled={isLocked} className="min-w-0">
        <legend className="sr-only">Setup</legend>
        <div className="space-y-5">
          <TextField label="Name" autoComplete="off" value={draft.name} onValue={set('name')} error={at('name')} />
          <TextField
            label="Description"
            optional
            value={draft.description}
            onValue={set('description')}
            hint="Helps people choose this agent."
            error={at('description')}
          />
          <InstructionsField
            value={draft.system_prompt}
            onValue={set('system_prompt')}
            locked={isLocked}
            error={at('system_prompt')}
          />
          <ModelField model={draft.model} onModel={set('model')} isLocked={isLocked} error={at('model')} />
        </div>
        <Section
          title="Tools"
          about="The agent acts with the permissions of the person using it. Tools set to “Ask” wait for approval before every call."
        >
          <ToolsField tools={draft.tools} onTools={set('tools')} locked={isLocked || !isMember} error={at('tools')} />
          <Computers workspaceId={agent.workspace_id} tools={draft.tools} member={isMember} />
          <ServersField
            servers={draft.mcp_servers}
            onServers={set('mcp_servers')}
            agent={editing.base}
            locked={isLocked || !isMember}
            unsaved={isUnsaved}
            error={at('mcp_servers')}
          />
          <SubagentsField
            subagents={draft.subagents}
            onSubagents={set('subagents')}
            agent={agent}
            locked={isLocked || !isMember}
            error={at('subagents')}
          />
        </Section>
        <LimitFields agent={agent} editing={editing} isMember={isMember} isLocked={isLocked} />
      </fieldset>
      {!isLocked && (isUnsaved || sending.failed) && <SaveBar editing={editing} version={agent.version} />}
    </form>
  )
}

function ModelField({
  model,
  onModel,
  isLocked,
  error,
}: {
  model: string | null
  onModel: (model: string | null) => void
  isLocked: boolean
  error: string | null
}) {
  return (
    <div>
      <p className="mb-1 text-sm font-medium">Model</p>
      <div className="flex flex-wrap items-center gap-2">
        <div className="min-w-0 border border-keyline bg-sheet">
          <ModelPicker model={model} onModel={onModel} />
        </div>
        {model !== null && !isLocked && (
          <Button look="quiet" onClick={() => onModel(null)}>
            Let the chat decide
          </Button>
        )}
      </div>
      <p className="mt-1 text-[0.8125rem] text-quiet">
        {model === null ? 'The agent uses the default model of the person using it.' : null}
      </p>
      {error && <p className="mt-1 text-[0.8125rem] font-medium text-seal">{error}</p>}
    </div>
  )
}
