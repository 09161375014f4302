import { NewKeyDialog } from '../../developer/keys/key-dialogs.tsx'
import { newDraft } from '../../developer/keys/key-draft.ts'
import { show } from './open.ts'

/** The form for a new key, wherever one is. */
export default function NewKey() {
  return <NewKeyDialog open onOpen={(open) => show(open ? 'new-key' : 'nothing')} start={() => newDraft('gateway')} />
}
