import { NewKeyDialog } from '../../developer/keys/key-dialogs.tsx'
import { newDraft } from '../../developer/keys/key-draft.ts'
import { show } from './open.ts'

export default function NewKey() {
  return <NewKeyDialog open onOpen={(open) => show(open ? 'new-key' : 'nothing')} start={() => newDraft('gateway')} />
}
