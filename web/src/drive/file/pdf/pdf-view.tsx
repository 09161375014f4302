import './pdf.css'
import { useEffect, useState } from 'react'
import { Waiting } from '../../../ui/notice.tsx'
import { bytesAt } from '../../queries.ts'
import type { DriveFile } from '../../../shared/drive/files.ts'
import { NoPreview } from '../no-preview.tsx'
import { type AskedPassword, type Pdf, type Refusal, Refused, openPdf } from './open-pdf.ts'
import { PdfPages } from './pages.tsx'
import { Password } from './password.tsx'

const messages: Record<Refusal, string> = {
  locked: 'This PDF uses a protection that can’t be unlocked here. Download it and open it in another app.',
  broken: 'This PDF is damaged and can’t be displayed. Download it to try another app.',
  slow: 'This PDF takes too long to open. Download it to open it in another app.',
  gone: 'This PDF couldn’t be loaded. Try again later or download it.',
}

type State =
  | { is: 'opening' }
  | { is: 'locked'; asked: AskedPassword }
  | { is: 'open'; pdf: Pdf }
  | { is: 'refused'; why: Refusal }

export function PdfView({ file, onWords }: { file: DriveFile; onWords: () => void }) {
  const [state, setState] = useState<State>({ is: 'opening' })
  const url = bytesAt(file.id, file.content_version === null ? {} : { version: file.content_version })
  useEffect(() => {
    let isWanted = true
    const { ready, close } = openPdf(url, (asked) => isWanted && setState({ is: 'locked', asked }))
    ready.then(
      (pdf) => isWanted && setState({ is: 'open', pdf }),
      (error: unknown) => isWanted && setState({ is: 'refused', why: error instanceof Refused ? error.why : 'broken' }),
    )
    return () => {
      isWanted = false
      setState({ is: 'opening' })
      close()
    }
  }, [url])
  if (state.is === 'refused') return <NoPreview file={file} why={messages[state.why]} />
  if (state.is === 'locked') return <Password name={file.name} asked={state.asked} />
  if (state.is === 'opening')
    return (
      <div className="p-4">
        <Waiting what="the pages" />
      </div>
    )
  return <PdfPages pdf={state.pdf} name={file.name} onWords={onWords} />
}
