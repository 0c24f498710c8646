// The script of a page: decides, shows and reports the experiments of a project.

import { isWithin, onClick } from "./click_listeners.js";
import { installCommands } from "./commands.js";
import { keepConsent, readConsent } from "./consent.js";
import { record } from "./events.js";
import { currentOnes, evaluate, markSeen, withdrawAll } from "./experiments.js";
import { onHidden, onRestored, whenActive } from "./lifetime.js";
import { onNavigation } from "./navigation.js";
import { tell } from "./notices.js";
import { visit } from "./page_decisions.js";
import { discard, open, sendByBeacon } from "./page_outbox.js";
import {
  forgetVisitor,
  handOver,
  keepVisitor,
  recallVisitor,
  setUser,
  tidyAddress,
} from "./page_visitor.js";
import { isPainted } from "./paint.js";
import { loadTool, parts } from "./parts.js";
import { session } from "./storage.js";
import { isPreview, keepDebug } from "./tools.js";

/** @typedef {ArrayLike<ArrayLike<any>> & { push(command: Iterable<any>): void }} Queue */
/** @typedef {{ (...command: any[]): void, q?: Queue, late?: boolean, reveal?: () => void, loaded?: boolean }} Stub */

const page = /** @type {{ truelift?: Stub }} */ (/** @type {unknown} */ (window));

const begin = () => {
  keepDebug();
  // Without a stub the name is that of the script's element.
  const stub = typeof page.truelift === "function" ? page.truelift : undefined;
  /** @type {import("./consent.js").Consent} */
  let consent = "pending";
  /** @type {import("./consent.js").Consent | undefined} */
  let said;
  let isBegun = false;
  let viewed = "";
  if (!document.adoptedStyleSheets || isPainted(stub)) markSeen();

  /** @type {(isNavigation: boolean) => void} */
  const look = (isNavigation) => {
    evaluate(isNavigation, () => {
      const [address = ""] = location.href.split(/#(?![!/])/);
      if (address !== viewed) record("pageview", {});
      viewed = address;
    });
  };

  const listen = () => {
    onNavigation(() => {
      if (consent === "granted") look(true);
    });
    onHidden(() => {
      if (consent === "granted") sendByBeacon();
    });
    onClick((path) => {
      if (consent !== "granted") return;
      for (const selector of CONFIG.clicks)
        if (isWithin(path, selector)) record("click", { selector });
      const link = path.find((element) => element instanceof HTMLAnchorElement);
      if (link?.href) {
        const address = handOver(link.href);
        if (address !== link.href) link.href = address;
      }
    });
    parts.watchDataLayer?.((event_name, value) => {
      if (consent === "granted") record("ga4_event", { event_name, value });
    });
  };

  const proceed = () => {
    recallVisitor();
    whenActive(() => {
      keepVisitor();
      tidyAddress();
    });
    if (!isBegun) {
      parts.reportReferrer?.();
      // What the page has said of its visitor decides, too.
      for (const [name, user, attributes] of queue) {
        try {
          if (name === "identify")
            setUser(/** @type {any} */ (user), /** @type {any} */ (attributes));
        } catch {
          // The command tells of it.
        }
      }
    }
    look(false);
    if (!isBegun) listen();
    isBegun = true;
    whenActive(open);
  };

  const settleConsent = () => {
    const before = consent;
    consent = readConsent(CONFIG, isPreview(), said);
    if (consent === "granted" && (before !== "granted" || !isBegun)) proceed();
    if (consent === "denied" && before === "granted") {
      withdrawAll();
      viewed = "";
    }
    commands.setConsent(consent);
  };

  const erase = () => {
    parts.forgetExperiences?.();
    discard();
    forgetVisitor();
  };

  const commands = installCommands(page, (isGranted) => {
    keepConsent(isGranted, CONFIG.settings);
    settleConsent();
    if (!isGranted) erase();
  });
  const queue = Array.from(stub?.q ?? [], (command) => Array.from(command));
  // Code that has kept the stub goes on to call it.
  if (stub) stub.q = { length: 0, push: (command) => page.truelift?.(...command) };
  /** @type {(command: unknown[]) => boolean} */
  const isAnswer = ([name]) => name === "consent";
  const answer = queue.filter(isAnswer).pop();
  // What the page has said holds before anything is stored, sent or followed.
  if (answer) page.truelift?.(...answer);
  else settleConsent();
  if (isPreview()) loadTool("preview");
  else
    parts.watchConsent?.((answer) => {
      said = answer;
      settleConsent();
      if (consent === "denied" && answer === "denied") erase();
    });
  if (session.get("debug")) loadTool("debug", visit, currentOnes, () => consent);
  for (const command of queue) if (!isAnswer(command)) page.truelift?.(...command);
  onRestored(() => {
    settleConsent();
    viewed = "";
    if (consent === "granted") look(true);
  });
};

if (!page.truelift?.loaded) {
  const reveal = page.truelift?.reveal;
  try {
    begin();
  } catch (error) {
    tell("error", { message: `${error}` });
  }
  reveal?.();
}
