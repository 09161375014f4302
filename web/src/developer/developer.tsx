import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Page, Section } from '../ui/page.tsx'
import { NewKeyDialog } from '../shared/keys/key-dialogs.tsx'
import { newDraft } from '../shared/keys/key-draft.ts'
import { KeyList } from '../shared/keys/key-list.tsx'
import { keysQuery } from '../shared/keys/keys.ts'

export function Developer() {
  const { data: keys, error, refetch } = useQuery(keysQuery)
  const [open, setOpen] = useState(false)
  const create = (
    <Button look="primary" icon="plus" onClick={() => setOpen(true)}>
      Create key
    </Button>
  )
  return (
    <Page title="Developer settings" lead="API keys for your programs.">
      <Section
        title="API keys"
        about="A key gives access to the REST API, the three model gateways and the MCP tool, within its scopes."
        action={keys?.length ? create : undefined}
      >
        {error && !keys ? (
          <Failure what="Your keys" error={error} again={refetch} />
        ) : !keys ? (
          <Waiting what="your keys" />
        ) : keys.length === 0 ? (
          <Empty title="No keys yet" action={create}>
            Create one key for each program or machine. You can then see when it was used, cap its spending, and revoke
            it without affecting the others.
          </Empty>
        ) : (
          <KeyList keys={keys} label="API keys" showWorkspace />
        )}
        <NewKeyDialog open={open} onOpen={setOpen} start={() => newDraft('gateway')} />
      </Section>
    </Page>
  )
}
