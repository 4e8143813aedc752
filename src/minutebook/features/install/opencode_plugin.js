// Asks Minutebook what matters before a prompt, and gives it each turn of a session.
// Written by `minutebook install opencode --hooks`; `--remove` takes it out again.
import { spawn } from "node:child_process"

const COMMAND = []
// Milliseconds after which the command is ended, which ends itself long before.
const LIMIT = 4000
const LONGEST = 30000

const ask = (event) =>
  new Promise((resolve) => {
    try {
      const [program, ...words] = COMMAND
      const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
      const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT)
      let printed = ""
      const end = () => {
        clearTimeout(timer)
        resolve(printed)
      }
      child.on("error", end)
      child.on("close", end)
      child.stdin.on("error", () => {})
      child.stdout.on("data", (data) => (printed += data))
      child.stdin.end(JSON.stringify(event))
    } catch {
      resolve("")
    }
  })

const textOf = (parts) =>
  parts
    .filter((part) => part.type === "text" && part.text && !part.synthetic && !part.ignored)
    .map((part) => part.text)
    .join("\n\n")
    .slice(0, LONGEST)

export const Minutebook = async ({ client, directory }) => {
  const seen = new Set()
  const ofAgents = new Set()
  const event = (name, session, more) => ({
    hook_event_name: name,
    session_id: session,
    cwd: directory,
    ...more,
  })

  const keep = async (session) => {
    const { data } = await client.session.messages({ path: { id: session } })
    const asked = data.findLastIndex(({ info }) => info.role === "user")
    if (asked < 0) return
    const answers = data.slice(asked + 1).filter(({ info }) => info.role === "assistant")
    const turn = {
      id: data[asked].info.id,
      at: data[asked].info.time?.created,
      prompt: textOf(data[asked].parts),
      response: textOf(answers.flatMap(({ parts }) => parts)),
    }
    if (turn.response) await ask(event("TurnEnd", session, { turn }))
  }

  return {
    "chat.message": async ({ sessionID }, output) => {
      try {
        if (ofAgents.has(sessionID)) return
        seen.add(sessionID)
        const prompt = textOf(output.parts)
        const printed = await ask(event("UserPromptSubmit", sessionID, { prompt }))
        if (!printed) return
        output.parts.push({
          id: `${output.parts.at(-1).id}m`,
          sessionID,
          messageID: output.message.id,
          type: "text",
          text: JSON.parse(printed).additionalContext,
          synthetic: true,
        })
      } catch {}
    },
    event: async ({ event: { type, properties } }) => {
      try {
        if (type === "session.created" && properties.info.parentID) ofAgents.add(properties.info.id)
        if (type === "session.idle" && seen.has(properties.sessionID)) await keep(properties.sessionID)
      } catch {}
    },
    dispose: async () => {
      for (const session of seen) await ask(event("SessionEnd", session))
    },
  }
}
